// Backward stage 3:  dQ = scale times the accumulator of dQ, rounded to the problem's dtype.
//
// Bound by memory: it reads 4 bytes and writes 2 an element. A workgroup has one tile of queries, whose sums
// stand in the order of stage 2's registers: it reads them coalesced, each lane what it would have had there,
// and turns the tile in shared memory. Slices are summed in their order.
#pragma once

#include "kernels/matrix/store.h"
#include "kernels/matrix/tiling.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix {

template <class Traits, class T, int kHeadDim, bool kPlain,
          class B = typename Traits::template Backward<T, kHeadDim, kPlain>>
__global__ __launch_bounds__(B::kThreads) void convert_dq_kernel(Arguments<T> a) {
  using Unit = typename B::Unit;
  HIP_DYNAMIC_SHARED(uint4, shared)
  const typename B::QueryTile tile = {reinterpret_cast<std::byte*>(shared)};

  const auto heads = static_cast<unsigned>(a.batch * a.nhead_q);
  const int index = static_cast<int>(blockIdx.x % heads) / a.nhead_q;
  const int head = static_cast<int>(blockIdx.x % heads) % a.nhead_q;
  const Sequence sequence = a.sequences.at(index);
  const auto number = static_cast<int>(blockIdx.x / heads);
  const auto dq = a.dq.queries(sequence, head);
  if (number * B::kM >= dq.rows) return;

  const Unit unit(static_cast<int>(threadIdx.x) % Unit::kWave);
  const int wave = static_cast<int>(threadIdx.x) / Unit::kWave;
  const std::int64_t place = AccPlace::first_tile(a, sequence, index, head, B::kM) + number;
  const float* const from = a.dq_acc + (place * B::kWaves + wave) * B::kDqWaveFloats;
  const int first_row = wave / B::kDqColumnWaves * 16 * B::kDqRowBlocks;
  const int first_column = wave % B::kDqColumnWaves * B::kDqColumns;
  const auto scales = scales_of<Unit>(a);
  const float factor = a.scores.scale / (scales.ds * scales.k);
  FMHA_BWD_UNROLL_BY(2)
  for (int n = 0; n < B::kDqWaveFloats / 256; ++n) {
    const int row = first_row + n / (B::kDqColumns / 16) * 16;
    const int group = n % (B::kDqColumns / 16) / B::kDqGroup;
    float sums[Unit::kSums] = {};
    for (int slice = 0; slice < (a.slice == 0 ? 1 : a.slices); ++slice) {
      FMHA_BWD_UNROLL
      for (int r = 0; r < Unit::kSums; ++r) {
        sums[r] += from[slice * a.slice + n * 256 + place_of_sum<Unit::kWave>(r, unit.lane())];
      }
    }
    FMHA_BWD_UNROLL
    for (int r = 0; r < Unit::kSums; ++r) {
      const int column =
          first_column + group * 16 * B::kDqGroup + unit.template column<B::kDqGroup>(n % B::kDqGroup, r);
      *reinterpret_cast<std::uint16_t*>(tile.element(row, unit.row(r), column)) =
          static_cast<std::uint16_t>(pack<T>(sums[r] * factor, 0.0F));
    }
  }
  __syncthreads();
  copy_out<B::kThreads, B::kM>(tile, dq, number * B::kM);
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix
