// What every kernel of the plain family is given, and its launchers, one a kernel.
#pragma once

#include "base/divided_up.h"
#include "base/dropout.h"
#include "base/mask.h"
#include "base/sequences.h"
#include "base/tensor.h"
#include "kernels/family.h"
#include "kernels/launch.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::plain {

inline constexpr int kSide = 16;                // threads stand as kSide x kSide
inline constexpr int kThreads = kSide * kSide;  // of a workgroup
inline constexpr int kTile = 32;                // queries, or keys, of a tile

/// The rows of one head of one sequence, contiguous.
template <class T>
struct Rows {
  T* data;  // [rows, columns]
  int rows;
  int columns;

  __device__ __forceinline__ T* row(int index) const {
    return data + static_cast<std::int64_t>(index) * columns;
  }
};

/// A problem on the device. Tensors are fp32, [batch, head, row, column] without padding; kernels/family.h
/// has their shapes. Those that the problem does not have are nullptr.
struct Arguments {
  const float* q;
  const float* k;
  const float* v;
  const float* d_o;
  float* o;
  float* lse;
  float* d;
  float* dq;
  float* dk;
  float* dv;
  const float* bias;
  float* dbias;
  const float* slopes;
  const float* sink;
  float* dsink;
  const Sequence* sequences;  // nullptr in batch mode
  MaskRule mask;
  DropoutDraws draws;
  bool drops;
  float scale;
  float softcap;  // 0 is none
  int batch;
  int nhead_q;
  int nhead_k;
  int hdim_q;
  int hdim_v;
  int bias_batch;         // 1 or batch
  int bias_heads;         // 1 or nhead_q
  std::int64_t seqlen_q;  // the longest
  std::int64_t seqlen_k;
  std::int64_t rows_q;  // of one head: in group mode those of all sequences
  std::int64_t rows_k;

  __device__ __forceinline__ Sequence sequence(int index) const {
    if (sequences != nullptr) return sequences[index];
    return {index, seqlen_q, seqlen_k, 0, 0, 0, 0};
  }
  /// The rows of a query head of `at` in a tensor with Q's rows.
  template <class T>
  __device__ __forceinline__ Rows<T> queries(T* tensor, const Sequence& at, int head, int columns) const {
    const std::int64_t first = (at.batch * nhead_q + head) * rows_q + at.first_q;
    return {tensor + first * columns, static_cast<int>(at.seqlen_q), columns};
  }
  /// The rows of a key head of `at` in a tensor with K's rows.
  template <class T>
  __device__ __forceinline__ Rows<T> keys(T* tensor, const Sequence& at, int head, int columns) const {
    const std::int64_t first = (at.batch * nhead_k + head) * rows_k + at.first_k;
    return {tensor + first * columns, static_cast<int>(at.seqlen_k), columns};
  }
  /// The key head that a query head uses.
  __device__ __forceinline__ int key_head(int head) const { return head / (nhead_q / nhead_k); }
};

/// `mask` is not used by stage 1.
inline Arguments arguments_of(const Problem& p, const MaskRule& mask, const DeviceTensors& t) {
  const Shape bias = shape_of(TensorId::bias, p);
  Arguments a = {};
  a.q = static_cast<const float*>(t.q);
  a.k = static_cast<const float*>(t.k);
  a.v = static_cast<const float*>(t.v);
  a.d_o = static_cast<const float*>(t.d_o);
  a.o = static_cast<float*>(t.o);
  a.lse = t.lse;
  a.d = t.d;
  a.dq = static_cast<float*>(t.dq);
  a.dk = static_cast<float*>(t.dk);
  a.dv = static_cast<float*>(t.dv);
  a.bias = static_cast<const float*>(t.bias);
  a.dbias = static_cast<float*>(t.dbias);
  a.slopes = t.slopes;
  a.sink = t.sink;
  a.dsink = t.dsink;
  a.sequences = t.sequences;
  a.mask = mask;
  a.draws = dropout_draws(p);
  a.drops = p.dropout.probability > 0.0F;
  a.scale = p.scale;
  a.softcap = p.softcap;
  a.batch = static_cast<int>(p.batch);
  a.nhead_q = static_cast<int>(p.nhead_q);
  a.nhead_k = static_cast<int>(p.nhead_k);
  a.hdim_q = static_cast<int>(p.hdim_q);
  a.hdim_v = static_cast<int>(p.hdim_v);
  a.bias_batch = static_cast<int>(bias.batch);
  a.bias_heads = static_cast<int>(bias.head);
  a.seqlen_q = p.seqlen_q;
  a.seqlen_k = p.seqlen_k;
  a.rows_q = shape_of(TensorId::q, p).row;
  a.rows_k = shape_of(TensorId::k, p).row;
  return a;
}

/// The rows that a workgroup owns.
struct OwnRows {
  int sequence;  // its index
  int head;
  int first;  // may be past the sequence's end
};

/// blockIdx.x counts heads, then sequences, then tiles of `size` rows.
__device__ __forceinline__ OwnRows own_rows(int batch, int heads, int size) {
  const auto planes = static_cast<unsigned>(batch * heads);
  const auto plane = static_cast<int>(blockIdx.x % planes);
  return {plane / heads, plane % heads, static_cast<int>(blockIdx.x / planes) * size};
}

/// O and LSE.
void launch_forward(const Arguments& arguments, hipStream_t stream);
/// D.
void launch_dot_do_o(const Arguments& arguments, hipStream_t stream);
void launch_dsink(const Arguments& arguments, hipStream_t stream);
void launch_dq(const Arguments& arguments, hipStream_t stream);
void launch_dk_dv(const Arguments& arguments, hipStream_t stream);
void launch_dbias(const Arguments& arguments, hipStream_t stream);

/// Starts kThreads threads in each of `blocks` workgroups, of which there may be none.
inline void launch(void (*kernel)(Arguments), std::int64_t blocks, int shared_bytes, hipStream_t stream,
                   const Arguments& arguments) {
  if (blocks == 0) return;
  launch_kernel(kernel, blocks, kThreads, shared_bytes, stream, arguments, "the launch of a plain kernel");
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::plain
