#include "kernels/simt/simt.h"

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
    const std::int64_t by_rows = rows / kSide + heads + 1;  // dot_do_o, and the tiles of the others
    const std::int64_t by_elements = rows / (4 * kThreads) * columns + columns + 1;  // fill, convert_dq
    if (by_rows <= kMaxWorkgroups && by_elements <= kMaxWorkgroups) return std::nullopt;
    return "the problem has more rows than one launch can cover";
  }

  void forward(const Problem& problem, const Mask& mask, const DeviceTensors& tensors,
               hipStream_t stream) const override {
    launch_forward(problem, mask, tensors, stream);
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
};

}  // namespace

const Family& family() {
  static const SimtFamily simt;
  return simt;
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::simt
