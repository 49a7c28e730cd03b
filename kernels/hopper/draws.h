// Which elements of a tile of scores are dropped (base/dropout.h), a bit for each of a thread's elements.
//
// A call of Philox is of eight keys of a query, which eight lanes have (ptx/wgmma.h): lane / 4 is the key's
// place among the eight. Each of these lanes makes an eighth of the calls for all of them, of the queries 8 j
// further, j % 8 = lane / 4, and they exchange the bits. A thread makes four calls for 64 queries of a tile:
// some 55 instructions a call, of which 20 are 64-bit multiplications and 12 take the bits.
#pragma once

#include <matrix_core.h>

#include <cstdint>

#include "base/dropout.h"
#include "kernels/unroll.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// The draws of one problem, as stage 2 takes them.
struct TileDraws {
  std::uint64_t offset;
  std::uint32_t eights_a_row;
  std::uint32_t limits;        // threshold - 1, the largest that is kept, in both halves
  std::uint32_t minus_limits;  // what wraps around to 0 when that is added, in both halves
  PhiloxKeys keys;

  explicit TileDraws(const DropoutDraws& draws)
      : offset(draws.offset),
        eights_a_row(static_cast<std::uint32_t>(draws.eights_a_row)),
        limits((draws.threshold - 1) * 0x10001U),
        minus_limits(((0x10001U - draws.threshold) & 0xffffU) * 0x10001U),
        keys(draws.seed) {}

  /// 64 queries from `query` on, of which the thread has 2 (lane % 4) + 8 j + e, and 16 keys from `key` on, a
  /// multiple of 16, of which it has lane / 4 + 8 r: bit 4 j + 2 r + e tells whether the element is dropped.
  __device__ __forceinline__ std::uint32_t dropped(int head, int query, int key, int lane) const {
    const int sharer = lane / 4;
    const auto row = static_cast<std::uint32_t>(query + 2 * (lane % 4) + 8 * sharer);
    const std::uint64_t first =
        offset + static_cast<std::uint32_t>(key) / 8 + std::uint64_t{row} * eights_a_row;
    std::uint32_t drawn = 0;  // four bits for each sharer
    FMHA_BWD_UNROLL
    for (int c = 0; c < 4; ++c) {
      const PhiloxWords integers =
          integers_at(head, first + static_cast<std::uint32_t>(c / 2) + (c % 2 == 0 ? 0U : eights_a_row));
      FMHA_BWD_UNROLL
      for (int w = 0; w < 4; ++w) drawn += above_limit(integers.words[w]) << (4 * w + c);
    }
    return exchanged(drawn, sharer);
  }

 private:
  /// The four integers of place `position` of a head's stream.
  __device__ __forceinline__ PhiloxWords integers_at(int head, std::uint64_t position) const {
    PhiloxWords words = {{static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32),
                          static_cast<std::uint32_t>(head), 0}};
    FMHA_BWD_UNROLL
    for (int round = 0; round < 10; ++round)
      words = philox_round(words, keys.of_round[round][0], keys.of_round[round][1]);
    return words;
  }

  /// 1 in each half that is above the limit, else 0: max(half, limit) - limit, but no more than 1.
  __device__ __forceinline__ std::uint32_t above_limit(std::uint32_t integer) const {
    return __viaddmin_u16x2(__vmaxu2(integer, limits), minus_limits, 0x10001U);
  }

  /// Four bits n of the result are the four bits `sharer` of sharer n's: a transposition of 8 x 8.
  __device__ static __forceinline__ std::uint32_t exchanged(std::uint32_t drawn, int sharer) {
    const std::uint32_t four = __shfl_xor(drawn, 16);
    const std::uint32_t halves = __byte_perm(drawn, four, sharer / 4 == 0 ? 0x5410 : 0x3276);
    const std::uint32_t two = __shfl_xor(halves, 8);
    const std::uint32_t bytes = __byte_perm(halves, two, sharer / 2 % 2 == 0 ? 0x6240 : 0x3715);
    const std::uint32_t one = __shfl_xor(bytes, 4);
    const bool even = sharer % 2 == 0;
    const std::uint32_t own = even ? 0x0f0f0f0fU : 0xf0f0f0f0U;
    return (bytes & own) | (__funnelshift_l(one, one, even ? 4 : 28) & ~own);
  }
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
