// The banks of shared memory: which lanes of a wave an architecture serves in one cycle, and how many banks
// they find. Bank b holds the 4-byte words b, b + banks, b + 2 banks, ..; in one cycle each gives or takes
// one word, to as many lanes as ask for it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/platform/emulator/fault.h"

namespace hip_emulator {

/// How an access is served that all of a wave's lanes take part in.
struct Phases {
  std::uint8_t banks;
  // In which phase each four of 32 lanes are served; lanes 32 to 63 come after them in the same order.
  std::array<std::uint8_t, 8> phase_of_four;

  constexpr std::size_t of_32_lanes() const {
    return *std::max_element(phase_of_four.begin(), phase_of_four.end()) + std::size_t{1};
  }
  constexpr std::size_t phase_of(std::size_t lane) const {
    return lane / 32 * of_32_lanes() + phase_of_four[lane % 32 / 4];
  }
};

/// Consecutive lanes.
inline constexpr Phases kBy32 = {32, {0, 0, 0, 0, 0, 0, 0, 0}};
inline constexpr Phases kBy16 = {32, {0, 0, 0, 0, 1, 1, 1, 1}};
inline constexpr Phases kBy8 = {32, {0, 0, 1, 1, 2, 2, 3, 3}};

/// Of accesses of up to 4, 8 and 16 bytes a lane.
using PhasesByWidth = std::array<Phases, 3>;

struct Banks {
  PhasesByWidth reads;  // and atomic operations
  PhasesByWidth writes;

  constexpr const Phases& phases(Access access, std::size_t bytes) const {
    const PhasesByWidth& of_kind = access == Access::write ? writes : reads;
    return of_kind[bytes <= 4 ? 0 : (bytes <= 8 ? 1 : 2)];
  }
};

// NVIDIA: 32 banks of 4 bytes, and a wave's request is split where its lanes ask for more than 128 bytes: in
// halves for 8 bytes a lane, in quarters for 16 (CUDA C++ Programming Guide, "Shared Memory" of compute
// capability 5.x and up; GTC 2018, S81006 "Volta: Architecture and Performance Optimization"). RDNA: 32 banks
// of 4 bytes for the lanes of a wave32 (RDNA3 ISA, "Local Data Share"); the split is taken to be the same.
inline constexpr Banks kConsecutive = {{kBy32, kBy16, kBy8}, {kBy32, kBy16, kBy8}};

// CDNA2 and CDNA3: 32 banks of 4 bytes. 16-byte reads are served in eights {0-3,20-23}, {4-7,16-19},
// {8-11,28-31}, {12-15,24-27}, 16-byte writes in consecutive ones (Composable Kernel documentation, "LDS bank
// conflicts").
inline constexpr Banks kCdna3 = {{kBy32, kBy16, {32, {0, 1, 2, 3, 1, 0, 3, 2}}}, {kBy32, kBy16, kBy8}};

// CDNA4, as measured (HipKittens, arXiv 2511.08083, "Phases and banks"): reads find 64 banks, 16 bytes in
// sixteens {0-3,12-15,20-27}, {4-11,16-19,28-31} and 8 bytes all 32 lanes in one phase; 8-byte writes find 32
// banks in consecutive sixteens. The others were not measured: reads of up to 4 bytes are taken to find the
// 64 banks of reads, writes to be like CDNA3's.
inline constexpr Banks kCdna4 = {
    {{{64, kBy32.phase_of_four}, {64, kBy32.phase_of_four}, {64, {0, 1, 1, 0, 1, 0, 0, 1}}}},
    {kBy32, kBy16, kBy8}};

inline constexpr std::size_t kMaxBanks = 64;

/// Of an architecture in architecture.h.
constexpr const Banks& banks_of(std::string_view architecture) {
  if (architecture == "gfx950") return kCdna4;
  if (architecture == "gfx90a" || architecture == "gfx942") return kCdna3;
  return kConsecutive;
}

}  // namespace hip_emulator
