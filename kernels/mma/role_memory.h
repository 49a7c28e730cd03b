// The shared memory of role_dq_dk_dv.h.
#pragma once

namespace fmha_bwd::FMHA_BWD_PLATFORM::mma {

/// Shared memory of the kernel, in bytes. B has four warps over the keys.
template <class B>
struct RoleMemory {
  static constexpr int kStages = 3;
  static constexpr int kPBytes = B::kM * B::kN * 2;
  static constexpr int kDOAt = kStages * B::kQueryTileBytes;
  static constexpr int kDsAt = kDOAt + kStages * B::kQueryTileBytes;
  static constexpr int kPAt = kDsAt + 2 * B::kDsTileBytes;
  static constexpr int kKAt = kPAt + 2 * kPBytes;
  static constexpr int kVAt = kKAt + B::kKeyTileBytes;
  static constexpr int kLseAt = kVAt + B::kKeyTileBytes;
  static constexpr int kDAt = kLseAt + kStages * B::kRowBytes;
  static constexpr int kSeenByAt =
      kDAt + kStages * B::kRowBytes;  // [2][kN]: the first query, and one past the last
  static constexpr int kBytes = kSeenByAt + 2 * B::kN * 4;
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::mma
