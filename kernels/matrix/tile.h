// Tiles of 16-bit elements in shared memory, and their way there.
//
// A tile is row-major and cut into granules of 16 bytes, its unit of moving. Granule g of a row stands at
// g ^ s(row), where s is the unit's, and rows within 16 may have other places: eight rows below one another
// then have a granule in eight different places of 128 bytes, so that reads of rows, reads of columns and the
// writes of dS touch every bank once.
#pragma once

#include <hip/hip_runtime.h>
#include <matrix_core.h>

#include <cstddef>
#include <cstdint>

#include "kernels/element.h"
#include "kernels/unroll.h"
#include "kernels/view.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix {

inline constexpr int kGranule = 8;  // elements

/// A tile of rows of kColumns elements, a power of two from 16 on, at `start` in shared memory.
template <class Unit, int kColumns>
struct Tile {
  static constexpr int kGranules = kColumns / kGranule;  // of a row
  static constexpr int kRowBytes = kColumns * 2;

  std::byte* start;

  /// A granule of row `first_row + row`; first_row is a multiple of 16, where swizzles begin anew.
  __device__ __forceinline__ std::byte* granule(int first_row, int row, int index) const {
    return start + first_row * kRowBytes +
           ((Unit::template place<kGranules>(row) * kRowBytes | swizzle(row) * 16) ^ index * 16);
  }
  /// An element's address.
  __device__ __forceinline__ std::byte* element(int first_row, int row, int column) const {
    return granule(first_row, row, column / kGranule) + column % kGranule * 2;
  }

 private:
  __device__ static __forceinline__ int swizzle(int row) {
    if constexpr (kGranules < 8) {
      // Rows share 128 bytes; those that are 8 apart are to differ too.
      return (row / (8 / kGranules) ^ row / 8 * (kGranules / 2)) % kGranules;
    } else {
      return Unit::template swizzle<kGranules>(row);
    }
  }
};

/// Sixteen bytes of elements, each times `factor`, a power of two.
template <class T>
__device__ __forceinline__ uint4 scaled(const uint4& granule, float factor) {
  const auto both = [factor](std::uint32_t word) {
    const T low = {static_cast<std::uint16_t>(word)};
    const T high = {static_cast<std::uint16_t>(word >> 16)};
    return pack<T>(to_float(low) * factor, to_float(high) * factor);
  };
  return make_uint4(both(granule.x), both(granule.y), both(granule.z), both(granule.w));
}

/// Copies tiles of kRows rows of S::kHeadDim columns by all S::kThreads threads of a workgroup; S are the
/// sizes of a kernel. A tile is begun, and finished later: the loads are under way in between. What the
/// source does not have is zero.
template <class S, int kRows>
class TileLoader {
  using Unit = typename S::Unit;
  using T = typename Unit::Element;
  using At = Tile<Unit, S::kHeadDim>;
  static constexpr int kThreads = S::kThreads;
  static constexpr int kCount = kRows * At::kGranules;
  static constexpr int kSteps = (kCount + kThreads - 1) / kThreads;
  static constexpr int kRowsAStep = kThreads / At::kGranules;  // where kSteps > 1
  static_assert(kThreads % At::kGranules == 0 && (kSteps == 1 || kCount % kThreads == 0));

 public:
  /// `source` has whole granules: columns, stride and start are multiples of 8 elements.
  __device__ __forceinline__ void begin(const At& tile, const Rows<const T>& source, int first_row) {
    const int thread = current_thread<S::kKeepsAddresses>();
    const int row = thread / At::kGranules;
    const int column = thread % At::kGranules * kGranule;
    if (kCount < kThreads && thread >= kCount) return;
    const T* from = source.row(first_row + row) + column;
    const int rows = column < source.columns ? source.rows - first_row - row : 0;
    FMHA_BWD_UNROLL
    for (int step = 0; step < kSteps; ++step) {
      const bool exists = step * kRowsAStep < rows;
      const T* const at = exists ? from : source.data;
      if constexpr (Unit::kCopiesAsync) {
        copy_async(tile.granule(0, row + step * kRowsAStep, column / kGranule), at, exists);
      } else {
        held_[step] = exists ? *reinterpret_cast<const uint4*>(at) : uint4{};
      }
      from += static_cast<std::int64_t>(kRowsAStep) * source.stride;
    }
  }

  /// The tile is there for all threads after a barrier behind this, with asynchronous copies after a wait for
  /// them too.
  /// Elements are multiplied by `factor` where the unit scales inputs.
  __device__ __forceinline__ void finish(const At& tile, [[maybe_unused]] float factor) {
    if constexpr (!Unit::kCopiesAsync) {
      if constexpr (Unit::kScalesInputs) {
        if (factor != 1.0F) {
          FMHA_BWD_UNROLL
          for (uint4& granule : held_) granule = scaled<T>(granule, factor);
        }
      }
      const int thread = current_thread<S::kKeepsAddresses>();
      if (kCount < kThreads && thread >= kCount) return;
      FMHA_BWD_UNROLL
      for (int step = 0; step < kSteps; ++step) {
        constexpr int kSwizzled = 16;
        const int first_row = step * kRowsAStep / kSwizzled * kSwizzled;
        const int row = thread / At::kGranules + step * kRowsAStep % kSwizzled;
        *reinterpret_cast<uint4*>(tile.granule(first_row, row, thread % At::kGranules)) = held_[step];
      }
    }
  }

 private:
  uint4 held_[Unit::kCopiesAsync ? 1 : kSteps];
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix
