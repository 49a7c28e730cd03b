#include "kernels/simt/simt.h"

#include <limits>

#include "kernels/simt/launch.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::simt {
namespace {

class SimtFamily final : public Family {
 public:
  std::string_view name() const override { return "simt"; }

  std::optional<std::string> refusal(const Problem& p, std::string_view /*arch*/) const override {
    // One launch has at most 2^32 - 1 threads along an axis on AMD.
    constexpr std::int64_t kMaxWorkgroups = ((std::int64_t{1} << 32) - 1) / kThreads;
    const std::int64_t heads = p.batch * p.nhead_q;
    const std::int64_t rows = heads * (p.seqlen_q > p.seqlen_k ? p.seqlen_q : p.seqlen_k);
    const std::int64_t columns = p.hdim_q > p.hdim_v ? p.hdim_q : p.hdim_v;
    const std::int64_t by_rows = rows / kSide + heads + 1;  // dot_do_o, convert_dq, tiles
    const std::int64_t by_elements = rows / (4 * kThreads) * columns + columns + 1;  // fill
    if (by_rows > kMaxWorkgroups || by_elements > kMaxWorkgroups) {
      return "the problem has more rows than one launch can cover";
    }
    // As wide as a view's stride of rows.
    constexpr std::int64_t kMaxRowStride = std::numeric_limits<int>::max();
    if (p.layout == Layout::bshd && p.nhead_q * columns > kMaxRowStride) {
      return "the heads of a row have more than 2^31 - 1 elements in layout bshd";
    }
    return std::nullopt;
  }

  std::size_t dq_acc_bytes(const Problem& problem) const override {
    return problem.dtype == DType::fp32 ? 0 : dq_bytes(problem);
  }
  std::size_t scratch_bytes(const Problem& /*problem*/) const override { return 0; }

  void forward(const Problem& problem, const Mask& mask, const DeviceTensors& tensors,
               hipStream_t stream) const override {
    launch_forward(problem, mask, tensors, stream);
  }
  void zero_dq(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream) const override {
    FMHA_BWD_HIP(hipMemsetAsync(sum_of_dq(problem, tensors).data, 0, dq_bytes(problem), stream));
  }
  void dot_do_o(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream) const override {
    launch_dot_do_o(problem, tensors, stream);
  }
  void dq_dk_dv(const Problem& problem, const Mask& mask, const DeviceTensors& tensors,
                hipStream_t stream) const override {
    launch_dq_dk_dv(problem, mask, tensors, stream);
  }
  void convert_dq(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream) const override {
    launch_convert_dq(problem, tensors, stream);
  }

 private:
  /// Bytes of dQ in fp32.
  static std::size_t dq_bytes(const Problem& p) {
    return static_cast<std::size_t>(p.batch * p.nhead_q * p.seqlen_q * p.hdim_q) * sizeof(float);
  }
};

}  // namespace

const Family& family() {
  static const SimtFamily simt;
  return simt;
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::simt
