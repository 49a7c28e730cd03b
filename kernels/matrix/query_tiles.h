// The tiles of Q, dO, LSE and D that a workgroup walks over, on their way to shared memory.
#pragma once

#include "kernels/matrix/tiling.h"
#include "kernels/matrix/walk.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix {

/// Tiles of B::kM queries; Memory has the places kDOAt, kLseAt and kDAt of their stages (Q's is 0). Of a
/// plain problem LSE is ready for exp2 of the scores that gives 2^kPShift P, and D for dS of that.
template <class B, class Memory, bool kPlain>
class QueryTiles {
  using Unit = typename B::Unit;
  using T = typename Unit::Element;
  using Loader = TileLoader<B, B::kM>;

 public:
  /// Those of the query heads of part.head_k's group.
  __device__ __forceinline__ QueryTiles(const Arguments<T>& a, std::byte* shared, const BlockPart& part,
                                        const Sequence& sequence)
      : a_(a),
        shared_(shared),
        seqlen_q_(scalar(static_cast<int>(sequence.seqlen_q))),
        q_(a.q.queries(sequence, part.head_k * a.group_size).data),
        d_o_(a.d_o.queries(sequence, part.head_k * a.group_size).data),
        lse_(a.lse.queries(sequence, part.head_k * a.group_size).data),
        d_(a.d.queries(sequence, part.head_k * a.group_size).data) {}

  __device__ __forceinline__ int seqlen_q() const { return seqlen_q_; }

  __device__ __forceinline__ typename B::QueryTile q_tile(int stage) const {
    return {shared_ + stage * B::kQueryTileBytes};
  }
  __device__ __forceinline__ typename B::QueryTile d_o_tile(int stage) const {
    return {shared_ + Memory::kDOAt + stage * B::kQueryTileBytes};
  }
  __device__ __forceinline__ float* lse_of(int stage) const {
    return reinterpret_cast<float*>(shared_ + Memory::kLseAt + stage * B::kRowBytes);
  }
  __device__ __forceinline__ float* d_of(int stage) const {
    return reinterpret_cast<float*>(shared_ + Memory::kDAt + stage * B::kRowBytes);
  }

  /// Begins to load a tile.
  __device__ __forceinline__ void begin(const Visit& visit, int stage) {
    const int first_query = visit.tile * B::kM;
    q_loader_.begin(q_tile(stage), rows_of(a_.q, q_, visit), first_query);
    d_o_loader_.begin(d_o_tile(stage), rows_of(a_.d_o, d_o_, visit), first_query);
    Unit::commit_loads();
    // One thread has one of LSE, the next kM one of D each.
    const int row = thread() % B::kM;
    if (thread() >= 2 * B::kM || first_query + row >= seqlen_q_) return;
    const float* const rows =
        thread() < B::kM ? lse_ + visit.member * a_.lse.head_stride : d_ + visit.member * a_.d.head_stride;
    fact_ = rows[first_query + row];
  }

  /// The tile that was begun is there behind a barrier.
  __device__ __forceinline__ void finish(int stage, const ScalesOf<Unit>& scales) {
    q_loader_.finish(q_tile(stage), scales.q);
    d_o_loader_.finish(d_o_tile(stage), scales.d_o);
    Unit::wait_for_loads();
    const int row = thread() % B::kM;
    if (thread() < B::kM)
      lse_of(stage)[row] = kPlain ? fact_ * kLog2E - static_cast<float>(kPShift<T>) : fact_;
    if (thread() >= B::kM && thread() < 2 * B::kM)
      d_of(stage)[row] = kPlain ? fact_ * (kPUnshift<T> * scales.ds) : fact_;
  }

 private:
  __device__ static __forceinline__ int thread() { return current_thread<B::kKeepsAddresses>(); }
  /// The queries of the visit's head; `first` is the group's first head's.
  __device__ __forceinline__ Rows<const T> rows_of(const View<const T>& view, const T* first,
                                                   const Visit& visit) const {
    return {first + visit.member * view.head_stride, seqlen_q_, view.row_stride, view.columns};
  }

  const Arguments<T>& a_;
  std::byte* const shared_;
  const int seqlen_q_;
  // Of the group's first head.
  const T* const q_;
  const T* const d_o_;
  const float* const lse_;
  const float* const d_;
  Loader q_loader_;
  Loader d_o_loader_;
  float fact_ = 0.0F;  // on its way: of LSE or D
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix
