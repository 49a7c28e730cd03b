// Which tiles of queries a workgroup visits, and in which order.
#pragma once

#include <hip/hip_runtime.h>

#include "base/mask.h"
#include "kernels/unroll.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix {

/// A Range of queries, in half the registers.
struct Queries {
  int begin = 0;
  int end = 0;

  __device__ __forceinline__ Queries() {}
  __device__ __forceinline__ explicit Queries(const Range& range)
      : begin(static_cast<int>(range.begin)), end(static_cast<int>(range.end)) {}
  __device__ __forceinline__ bool contains(int query) const { return begin <= query && query < end; }
};

/// A tile of queries of one head of the group.
struct Visit {
  int tile;
  int member;
};

/// The tiles that see any of the keys of a tile of keys, of one head of the group after the other; from a
/// tile on and round, another one for each tile of keys.
class Walk {
 public:
  /// `whole`: all keys of the tile exist. `turn` is any number.
  __device__ __forceinline__ Walk(const Mask& mask, int first_key, int end_key, bool whole, int tile_rows,
                                  int turn, int group_size)
      : tile_rows_(tile_rows), group_size_(group_size) {
    const Queries some(mask.queries_of({first_key, end_key}));
    begin_ = some.begin / tile_rows;
    end_ = some.end > some.begin ? (some.end + tile_rows - 1) / tile_rows : begin_;
    start_ = end_ > begin_ ? begin_ + turn % (end_ - begin_) : begin_;
    // The later a key, the later it is seen, and the later no more.
    all_see_.begin = static_cast<int>(mask.visible_queries(end_key - 1).begin);
    all_see_.end = whole ? static_cast<int>(mask.visible_queries(first_key).end) : all_see_.begin;
  }

  __device__ __forceinline__ int visits() const { return (end_ - begin_) * group_size_; }
  __device__ __forceinline__ Visit first() const { return {start_, 0}; }
  __device__ __forceinline__ Visit after(const Visit& visit) const {
    Visit next = {visit.tile + 1 == end_ ? begin_ : visit.tile + 1, visit.member};
    if (next.tile == start_) ++next.member;
    return next;
  }
  /// Whether some query of the tile, or past the last, does not see some of the keys.
  __device__ __forceinline__ bool is_cut(int tile) const {
    return tile * tile_rows_ < all_see_.begin || (tile + 1) * tile_rows_ > all_see_.end;
  }

 private:
  int tile_rows_;
  int group_size_;
  int begin_;  // tiles
  int end_;
  int start_;
  Queries all_see_;
};

/// Which queries see each key of a tile of kN: two arrays in shared memory, so that adjacent keys are in
/// adjacent banks.
template <int kN>
class SeenBy {
 public:
  __device__ __forceinline__ explicit SeenBy(void* shared) : first_(static_cast<int*>(shared)) {}

  /// By kN threads at least; for others behind a barrier. A key past the last is seen by nobody.
  __device__ __forceinline__ void note(const Mask& mask, int first_key) const {
    const auto row = static_cast<int>(threadIdx.x);
    if (row >= kN) return;
    Queries queries;
    queries.begin = queries.end = kNobody;
    if (first_key + row < static_cast<int>(mask.seqlen_k()))
      queries = Queries(mask.visible_queries(first_key + row));
    first_[row] = queries.begin;
    first_[kN + row] = queries.end;
  }
  __device__ __forceinline__ Queries operator[](int row) const {
    Queries queries;
    queries.begin = first_[row];
    queries.end = first_[kN + row];
    return queries;
  }
  /// Whether none of the queries [first_query, end_query) sees any of `rows` keys from `row` on.
  __device__ __forceinline__ bool hides(int row, int rows, int first_query, int end_query) const {
    return first_[row] >= end_query || first_[kN + row + rows - 1] <= first_query;
  }

 private:
  static constexpr int kNobody = 0x7fffffff;
  int* first_;  // [2][kN]
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix
