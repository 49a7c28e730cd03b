#include "kernels/plain/plain.h"

#include <algorithm>

#include "base/tensor.h"
#include "kernels/plain/arguments.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::plain {
namespace {

class PlainFamily final : public Family {
 public:
  std::string_view name() const override { return "plain"; }

  std::optional<std::string> refusal(const Problem& p, const MaskRule& /*mask*/,
                                     std::string_view /*arch*/) const override {
    if (p.dtype != DType::fp32) return "it computes fp32, not " + std::string(name_of(p.dtype));
    if (p.layout != Layout::bhsd) return "its layout is bhsd, not " + std::string(name_of(p.layout));
    if (has_padding(p)) return "its sequences have no padding";
    // One launch has at most 2^32 - 1 threads along an axis on AMD.
    constexpr std::int64_t kMaxWorkgroups = ((std::int64_t{1} << 32) - 1) / kThreads;
    std::int64_t workgroups = p.batch * p.nhead_q * divided_up(std::max(p.seqlen_q, p.seqlen_k), kSide);
    for (const TensorId id : inputs_of(p)) {
      workgroups = std::max(workgroups, shape_of(id, p).elements() / (4 * kThreads) + 1);  // fill
    }
    if (p.bias != BiasShape::none) {
      const Shape bias = shape_of(TensorId::bias, p);
      const std::int64_t tiles = divided_up(bias.row, kTile) * divided_up(bias.column, kTile);
      workgroups = std::max(workgroups, bias.batch * bias.head * tiles);
    }
    if (workgroups > kMaxWorkgroups) return "the problem has more tiles than one launch can cover";
    return std::nullopt;
  }

  std::size_t dq_acc_bytes(const Problem& /*problem*/) const override { return 0; }
  std::size_t scratch_bytes(const Problem& /*problem*/) const override { return 0; }

  void forward(const Problem& problem, const MaskRule& mask, const DeviceTensors& tensors,
               hipStream_t stream) const override {
    launch_forward(arguments_of(problem, mask, tensors), stream);
  }
  void zero_dq(const Problem& /*problem*/, const DeviceTensors& /*tensors*/,
               hipStream_t /*stream*/) const override {}
  void dot_do_o(const Problem& problem, const MaskRule& /*mask*/, const DeviceTensors& tensors,
                hipStream_t stream) const override {
    const Arguments arguments = arguments_of(problem, {}, tensors);
    launch_dot_do_o(arguments, stream);
    if (problem.sink) launch_dsink(arguments, stream);
  }
  void dq_dk_dv(const Problem& problem, const MaskRule& mask, const DeviceTensors& tensors,
                hipStream_t stream) const override {
    const Arguments arguments = arguments_of(problem, mask, tensors);
    launch_dq(arguments, stream);
    launch_dk_dv(arguments, stream);
    if (problem.bias != BiasShape::none) launch_dbias(arguments, stream);
  }
  void convert_dq(const Problem& /*problem*/, const DeviceTensors& /*tensors*/,
                  hipStream_t /*stream*/) const override {}
};

}  // namespace

const Family& family() {
  static const PlainFamily plain;
  return plain;
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::plain
