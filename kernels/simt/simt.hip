#include "kernels/simt/simt.h"

#include "kernels/simt/launch.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::simt {
namespace {

class SimtFamily final : public Family {
 public:
  std::string_view name() const override { return "simt"; }

  std::optional<std::string> refusal(const Problem& problem, std::string_view /*arch*/) const override {
    // Workgroups are counted along one axis of 2^31 - 1; the finest tiling is 32 keys or 16 rows.
    constexpr double kMaxWorkgroups = 2147483647.0;
    const double rows =
        static_cast<double>(problem.batch) * static_cast<double>(problem.nhead_q) *
        static_cast<double>(problem.seqlen_q > problem.seqlen_k ? problem.seqlen_q : problem.seqlen_k);
    const double elements = rows * static_cast<double>(problem.hdim_q);
    if (rows / 16.0 + 1.0 > kMaxWorkgroups || elements / 1024.0 + 1.0 > kMaxWorkgroups) {
      return "more workgroups than one launch can have";
    }
    return std::nullopt;
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
