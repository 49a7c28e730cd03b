// The tiles of the family rdna: gfx11xx and gfx12xx.
//
//   hdim  queries x keys  waves  sums of dV, dK  S, dP    LDS
//   64    32 x 64         4      32 + 32         16 + 16  41 KB
//   128   16 x 64         4      64 + 64         8 + 8    53 KB
//   256   16 x 32         4      64 + 64         8 + 8    51 KB
//
// At hdim 256 two waves share a set of keys, half of the columns each, and Q and dO have one buffer.
#pragma once

#include "kernels/matrix/launch.h"
#include "kernels/rdna/unit.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::rdna {

template <int kHeadDim, bool kGfx12>
inline constexpr matrix::BackwardSizes kSizes =
    kHeadDim == 64    ? matrix::BackwardSizes{32, 1, 4, 1, 2, 2, false, false, 1, kGfx12}
    : kHeadDim == 128 ? matrix::BackwardSizes{16, 1, 4, 1, 2, 1, false, false, 1}
                      : matrix::BackwardSizes{16, 1, 2, 2, 1, 1, false, !kGfx12, 1};

template <bool kGfx12>
struct Of {
  template <class T>
  using Unit = rdna::Unit<T, kGfx12>;
  template <class T, int kHeadDim, bool kPlain>
  using Backward = matrix::Backward<rdna::Unit<T, kGfx12>, kHeadDim, kSizes<kHeadDim, kGfx12>>;
  static matrix::Launches launches();
  /// Bytes of shared memory of stage 2.
  template <class T, int kHeadDim>
  static constexpr std::int64_t backward_bytes(bool /*plain*/) {
    return Backward<T, kHeadDim, true>::kSharedBytes;
  }
};

struct Traits {
  static constexpr std::string_view kName = "rdna";
  static constexpr std::string_view kNeeds = "gfx11xx or gfx12xx";
  static bool takes(std::string_view arch) {
    return arch.size() == 7 && (arch.substr(0, 5) == "gfx11" || arch.substr(0, 5) == "gfx12");
  }
  static std::int64_t shared_bytes(std::string_view /*arch*/) { return 64 * 1024; }
  /// What `body.template operator()<Sizes>()` returns, with those of an architecture.
  template <class Body>
  static auto with_sizes(std::string_view arch, const Body& body) {
    return arch.substr(0, 5) == "gfx12" ? body.template operator()<Of<true>>()
                                        : body.template operator()<Of<false>>();
  }
  static std::size_t scratch_bytes(const Problem& /*problem*/) { return 0; }
  static void prepare_forward(const Problem& /*problem*/, const DeviceTensors& /*tensors*/,
                              hipStream_t /*stream*/) {}
  static void prepare_backward(const Problem& /*problem*/, const DeviceTensors& /*tensors*/,
                               hipStream_t /*stream*/) {}
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::rdna
