#include "kernels/simt/simt.h"

#include <algorithm>
#include <limits>

#include "kernels/simt/launch.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::simt {
namespace {

class SimtFamily final : public Family {
 public:
  std::string_view name() const override { return "simt"; }

  std::optional<std::string> refusal(const Problem& p, const MaskRule& /*mask*/,
                                     std::string_view /*arch*/) const override {
    // One launch has at most 2^32 - 1 threads along an axis on AMD.
    constexpr std::int64_t kMaxWorkgroups = ((std::int64_t{1} << 32) - 1) / kThreads;
    const std::int64_t longest = p.seqlen_q > p.seqlen_k ? p.seqlen_q : p.seqlen_k;
    const std::int64_t by_rows = p.batch * p.nhead_q * divided_up(longest, kSide);
    std::int64_t by_elements = 0;
    for (const TensorId id : inputs_of(p)) {
      by_elements = std::max(by_elements, shape_of(id, p).elements() / (4 * kThreads) + 1);  // fill
    }
    if (by_rows > kMaxWorkgroups || by_elements > kMaxWorkgroups) {
      return "the problem has more rows than one launch can cover";
    }
    // As wide as a view's stride of rows.
    constexpr std::int64_t kMaxRowStride = std::numeric_limits<int>::max();
    for (const TensorId id : {TensorId::q, TensorId::k, TensorId::v, TensorId::o}) {
      if (place_of(id, p).strides.row > kMaxRowStride) {
        return "the heads of a row have more than 2^31 - 1 elements in layout " +
               std::string(name_of(p.layout));
      }
    }
    return std::nullopt;
  }

  std::size_t dq_acc_bytes(const Problem& problem) const override {
    return problem.deterministic || adds_into_dq(problem) ? 0 : acc_bytes(problem);
  }
  std::size_t scratch_bytes(const Problem& /*problem*/) const override { return 0; }

  void forward(const Problem& problem, const MaskRule& mask, const DeviceTensors& tensors,
               hipStream_t stream) const override {
    launch_forward(problem, mask, tensors, stream);
  }
  void zero_dq(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream) const override {
    if (problem.deterministic) return;
    void* const sum = adds_into_dq(problem) ? tensors.dq : tensors.dq_acc;
    FMHA_BWD_HIP(hipMemsetAsync(sum, 0, acc_bytes(problem), stream));
  }
  void dot_do_o(const Problem& problem, const MaskRule& /*mask*/, const DeviceTensors& tensors,
                hipStream_t stream) const override {
    launch_dot_do_o(problem, tensors, stream);
    if (problem.sink) launch_dsink(problem, tensors, stream);
  }
  void dq_dk_dv(const Problem& problem, const MaskRule& mask, const DeviceTensors& tensors,
                hipStream_t stream) const override {
    launch_dq_dk_dv(problem, mask, tensors, stream);
    if (problem.deterministic) launch_dq(problem, mask, tensors, stream);
    if (problem.bias != BiasShape::none) launch_dbias(problem, mask, tensors, stream);
  }
  void convert_dq(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream) const override {
    launch_convert_dq(problem, tensors, stream);
  }

 private:
  /// Bytes of the sum of dQ in fp32.
  static std::size_t acc_bytes(const Problem& problem) {
    return static_cast<std::size_t>(dq_acc_shape(problem).elements()) * sizeof(float);
  }
};

}  // namespace

const Family& family() {
  static const SimtFamily simt;
  return simt;
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::simt
