// The tiles of the family cdna: gfx90a, gfx942, gfx950.
//
//   hdim  queries x keys  waves  sums of dV, dK  S, dP    K, V, K^T     LDS
//   64    32 x 128        4      32 + 32         16 + 16  16 + 16 + 16  25 KB
//   128   32 x 128        4      64 + 64         16 + 16  32 + 32 + 32  50 KB
//   256   32 x 64         4      64 + 64         8 + 8    32 + 32 + 32  41 KB
//
// At hdim 64 two workgroups share a CU; there and at hdim 256 Q and dO have one buffer.
// Registers a lane, of 512 where one workgroup has a CU.
#pragma once

#include "kernels/cdna/unit.h"
#include "kernels/matrix/launch.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::cdna {

template <int kHeadDim, bool kPlain>
inline constexpr matrix::BackwardSizes kSizes =
    kHeadDim == 64    ? matrix::BackwardSizes{32, 2, 4, 1, 1, 1, true, false, 2, kPlain}
    : kHeadDim == 128 ? matrix::BackwardSizes{32, 2, 4, 1, 2, 1, true, false, 1, true}
                      : matrix::BackwardSizes{32, 1, 4, 1, 1, 1, true, false, 1, true};

struct Traits {
  template <class T>
  using Unit = cdna::Unit<T>;
  template <class T, int kHeadDim, bool kPlain>
  using Backward = matrix::Backward<cdna::Unit<T>, kHeadDim, kSizes<kHeadDim, kPlain>>;

  static constexpr std::string_view kName = "cdna";
  static constexpr std::string_view kNeeds = "gfx90a, gfx942 or gfx950";
  static bool takes(std::string_view arch) {
    return arch == "gfx90a" || arch == "gfx942" || arch == "gfx950";
  }
  static std::int64_t shared_bytes(std::string_view /*arch*/) { return 64 * 1024; }
  static matrix::Launches launches();
  /// Bytes of shared memory of stage 2.
  template <class T, int kHeadDim>
  static constexpr std::int64_t backward_bytes(bool /*plain*/) {
    return Backward<T, kHeadDim, true>::kSharedBytes;
  }
  /// What `body.template operator()<Sizes>()` returns.
  template <class Body>
  static auto with_sizes(std::string_view /*arch*/, const Body& body) {
    return body.template operator()<Traits>();
  }
  /// norms.h's, for fp16 on gfx90a: it flushes subnormal numbers.
  static std::size_t scratch_bytes(const Problem& problem);
  static void prepare_forward(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream);
  static void prepare_backward(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream);
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::cdna
