// A family of matrix kernels, from its traits: the name, which architectures it takes, and the sizes of its
// tiles on each. D, dSink and dBias are those of the family simt.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/current_arch.h"
#include "kernels/matrix/forward_tiling.h"
#include "kernels/matrix/launch.h"
#include "kernels/simt/launch.h"
#include "kernels/simt/simt.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix {

template <class Traits>
class MatrixFamily final : public Family {
 public:
  std::string_view name() const override { return Traits::kName; }

  std::optional<std::string> refusal(const Problem& p, const MaskRule& mask,
                                     std::string_view arch) const override {
    if (!Traits::takes(arch)) return "it needs " + std::string(Traits::kNeeds) + ", not " + std::string(arch);
    if (p.dtype == DType::fp32) return "it multiplies fp16 and bf16, not fp32";
    if (p.hdim_q % kGranule != 0 || p.hdim_v % kGranule != 0 || p.hdim_q > 256 || p.hdim_v > 256) {
      return "its head dimensions are multiples of 8 up to 256";
    }
    if (!std::isfinite(p.scale * kLog2E)) return "its scale times log2 e is not finite";
    const std::int64_t needed = shared_bytes(p, arch);
    if (const std::int64_t limit = Traits::shared_bytes(arch); needed > limit) {
      return "it needs " + std::to_string(needed) + " bytes of shared memory, and " + std::string(arch) +
             " has " + std::to_string(limit);
    }
    // Tiles and threads of a launch are counted in 32 bits, and so is a row's place in a tile's walk.
    constexpr std::int64_t kMaxWaves = std::int64_t{1} << 24;
    const std::int64_t longest = p.seqlen_q > p.seqlen_k ? p.seqlen_q : p.seqlen_k;
    if (p.batch * p.nhead_q * divided_up(longest, 16) > kMaxWaves) {
      return "the problem has more tiles than one launch can cover";
    }
    return simt::family().refusal(p, mask, arch);
  }

  std::size_t dq_acc_bytes(const Problem& p) const override {
    return with_backward(p, current_arch(), [&]<class B>() {
      return static_cast<std::size_t>(BackwardGrid<B>(p).acc_floats(p)) * sizeof(float);
    });
  }
  std::size_t scratch_bytes(const Problem& problem) const override { return Traits::scratch_bytes(problem); }

  void forward(const Problem& problem, const MaskRule& mask, const DeviceTensors& tensors,
               hipStream_t stream) const override {
    Traits::prepare_forward(problem, tensors, stream);
    launches().forward(problem, mask, tensors, stream);
  }
  void zero_dq(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream) const override {
    FMHA_BWD_HIP(hipMemsetAsync(tensors.dq_acc, 0, dq_acc_bytes(problem), stream));
  }
  void dot_do_o(const Problem& problem, const MaskRule& /*mask*/, const DeviceTensors& tensors,
                hipStream_t stream) const override {
    simt::launch_dot_do_o(problem, tensors, stream);
    if (problem.sink) simt::launch_dsink(problem, tensors, stream);
    Traits::prepare_backward(problem, tensors, stream);
  }
  void dq_dk_dv(const Problem& problem, const MaskRule& mask, const DeviceTensors& tensors,
                hipStream_t stream) const override {
    const Launches all = launches();
    (problem.plain_scores() ? all.plain_dq_dk_dv : all.scored_dq_dk_dv)(problem, mask, tensors, stream);
    if (problem.bias != BiasShape::none) simt::launch_dbias(problem, mask, tensors, stream);
  }
  void convert_dq(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream) const override {
    launches().convert_dq(problem, tensors, stream);
  }

 private:
  static Launches launches() {
    return Traits::with_sizes(current_arch(), [&]<class Sizes>() { return Sizes::launches(); });
  }
  /// What `body.template operator()<B>()` returns, with the tiles of the problem.
  template <class Body>
  static auto with_backward(const Problem& p, std::string_view arch, const Body& body) {
    return Traits::with_sizes(arch, [&]<class Sizes>() {
      return with_types(p, [&]<class T, int kHeadDim>() {
        return p.plain_scores()
                   ? body.template operator()<typename Sizes::template Backward<T, kHeadDim, true>>()
                   : body.template operator()<typename Sizes::template Backward<T, kHeadDim, false>>();
      });
    });
  }
  static std::int64_t shared_bytes(const Problem& p, std::string_view arch) {
    return Traits::with_sizes(arch, [&]<class Sizes>() {
      return with_types(p, [&]<class T, int kHeadDim>() {
        const std::int64_t backward = Sizes::template backward_bytes<T, kHeadDim>(p.plain_scores());
        constexpr std::int64_t kForward = Forward<typename Sizes::template Unit<T>, kHeadDim>::kSharedBytes;
        return backward > kForward ? backward : kForward;
      });
    });
  }
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix
