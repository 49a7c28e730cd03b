// The tiles of the family mma, NVIDIA's sm_80 and later.
//
//   hdim  queries x keys  warps  keys a warp  shared memory
//   64    32 x 128        4      32           65 KB   two blocks a multiprocessor
//   128   32 x 64         4      16           73 KB   the same
//         64 x 128        8      32           227 KB  plain scores where a block can have it: role_dq_dk_dv.h
//   256   16 x 64         8      16           100 KB  two warps a set of keys, each half of the columns
//
// Other scores than plain ones take more registers: 16 keys a warp, and 16 queries from hdim 128 on.
#pragma once

#include "kernels/matrix/launch.h"
#include "kernels/mma/role_memory.h"
#include "kernels/mma/unit.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::mma {

template <int kHeadDim>
inline constexpr matrix::BackwardSizes kPlainSizes =
    kHeadDim == 64    ? matrix::BackwardSizes{32, 2, 4, 1, 2, 2, false, false, 2}
    : kHeadDim == 128 ? matrix::BackwardSizes{32, 1, 4, 1, 2, 2, false, false, 2}
                      : matrix::BackwardSizes{16, 1, 4, 2, 2, 1, false, false, 1};
template <int kHeadDim>
inline constexpr matrix::BackwardSizes kScoredSizes =
    kHeadDim == 64    ? matrix::BackwardSizes{32, 1, 4, 1, 2, 2, false, false, 2}
    : kHeadDim == 128 ? matrix::BackwardSizes{16, 1, 4, 1, 2, 1, false, false, 2}
                      : matrix::BackwardSizes{16, 1, 4, 2, 2, 1, false, false, 1};
inline constexpr matrix::BackwardSizes kRoleSizes = {64, 2, 4, 2, 2, 2, false, false, 1};

/// kLarge: a block can have 227 KB of shared memory.
template <bool kLarge>
struct Of {
  template <class T>
  using Unit = mma::Unit<T>;
  /// Whether stage 2 is role_dq_dk_dv.h's.
  template <int kHeadDim, bool kPlain>
  static constexpr bool kHasRoles = kLarge&& kHeadDim == 128 && kPlain;
  template <class T, int kHeadDim, bool kPlain>
  using Backward = matrix::Backward<mma::Unit<T>, kHeadDim,
                                    kHasRoles<kHeadDim, kPlain> ? kRoleSizes
                                    : kPlain                    ? kPlainSizes<kHeadDim>
                                                                : kScoredSizes<kHeadDim>>;

  /// Bytes of shared memory of stage 2.
  template <class T, int kHeadDim>
  static constexpr std::int64_t backward_bytes(bool plain) {
    if (!plain) return Backward<T, kHeadDim, false>::kSharedBytes;
    using B = Backward<T, kHeadDim, true>;
    return kHasRoles<kHeadDim, true> ? RoleMemory<B>::kBytes : B::kSharedBytes;
  }
  static matrix::Launches launches();
};

/// Those of role_dq_dk_dv.h, by the name that its kernels have.
struct RoleSizes : Of<true> {};

struct Traits {
  static constexpr std::string_view kName = "mma";
  static constexpr std::string_view kNeeds = "an NVIDIA architecture from sm_80 on";
  static bool takes(std::string_view arch);
  /// Bytes that a block can have.
  static std::int64_t shared_bytes(std::string_view arch);
  /// What `body.template operator()<Sizes>()` returns, with those of an architecture.
  template <class Body>
  static auto with_sizes(std::string_view arch, const Body& body) {
    return shared_bytes(arch) >= 227 * 1024 ? body.template operator()<Of<true>>()
                                            : body.template operator()<Of<false>>();
  }
  static std::size_t scratch_bytes(const Problem& /*problem*/) { return 0; }
  static void prepare_forward(const Problem& /*problem*/, const DeviceTensors& /*tensors*/,
                              hipStream_t /*stream*/) {}
  static void prepare_backward(const Problem& /*problem*/, const DeviceTensors& /*tensors*/,
                               hipStream_t /*stream*/) {}
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::mma
