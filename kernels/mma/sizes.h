// The tiles of the family mma, NVIDIA's sm_80 and later.
//
//   hdim  queries x keys  warps  sums of dV, dK  S, dP   shared memory
//   64    64 x 128        8      32 + 32         32 + 32  97 KB
//   128   64 x 128        8      64 + 64         32 + 32  161 KB
//   256   32 x 64         8      64 + 64         16 + 16  136 KB   two warps a set of keys, half of the
//   columns each
#pragma once

#include "kernels/matrix/launch.h"
#include "kernels/mma/unit.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::mma {

template <int kHeadDim, bool kPlain>
inline constexpr matrix::BackwardSizes kSizes =
    kHeadDim == 64    ? matrix::BackwardSizes{64, 1, 8, 1, 2, 2, false, false, 1}
    : kHeadDim == 128 ? matrix::BackwardSizes{kPlain ? 64 : 32, 1, 8, 1, 2, 2, false, false, 1}
                      : matrix::BackwardSizes{32, 1, 4, 2, 2, 1, false, false, 1};

struct Traits {
  template <class T>
  using Unit = mma::Unit<T>;
  template <class T, int kHeadDim, bool kPlain>
  using Backward = matrix::Backward<mma::Unit<T>, kHeadDim, kSizes<kHeadDim, kPlain>>;

  static constexpr std::string_view kName = "mma";
  static constexpr std::string_view kNeeds = "an NVIDIA architecture from sm_80 on";
  static bool takes(std::string_view arch);
  /// Bytes that a block can have.
  static std::int64_t shared_bytes(std::string_view arch);
  static matrix::Launches launches();
  static std::size_t scratch_bytes(const Problem& /*problem*/) { return 0; }
  static void prepare(const Problem& /*problem*/, const DeviceTensors& /*tensors*/, hipStream_t /*stream*/) {}
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::mma
