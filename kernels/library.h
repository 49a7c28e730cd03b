/* The kernels on a framework's own tensors: the C interface of libfmha_bwd_nvidia.so.
 *
 * Every function works on the calling thread's current device, enqueues on `stream` (a cudaStream_t of that
 * device; NULL is the default stream) and does not synchronise or allocate. The sizes are those of the
 * current device too: ask for them on the one that the passes run on. Each function returns 0, or the
 * program's exit code with one line of why in `message`, cut to `message_bytes` (NULL with 0 where nobody
 * reads it):
 *
 * - 2, bad input: the line names the option of the program, or the member, that is wrong;
 *
 * - 3, unsupported: no family of that name, or it refuses the problem;
 *
 * - 6: the device or its runtime reports an error.
 *
 * The structs have grown and may grow: a program is to be compiled with the header that the library came
 * with.
 */
#ifndef FMHA_BWD_KERNELS_LIBRARY_H
#define FMHA_BWD_KERNELS_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FMHA_BWD_FP16 = 0, FMHA_BWD_BF16 = 1, FMHA_BWD_FP32 = 2 };
/* Query i stands at key d: i where the name ends with TOP_LEFT, else i + (seqlen_k - seqlen_q). It sees every
 * key; the keys j <= d; or those of the window d - window_left <= j <= d + window_right. */
enum {
  FMHA_BWD_NO_MASK = 0,
  FMHA_BWD_TOP_LEFT = 1,
  FMHA_BWD_BOTTOM_RIGHT = 2,
  FMHA_BWD_WINDOW_TOP_LEFT = 3,
  FMHA_BWD_WINDOW_BOTTOM_RIGHT = 4
};
/* No limit to a side of a window; limits are not larger than it, and may be negative. */
#define FMHA_BWD_UNBOUNDED (INT64_C(1) << 40)
/* [batch, head, row, column], or [batch, row, head, column]; contiguous. */
enum { FMHA_BWD_BHSD = 0, FMHA_BWD_BSHD = 1 };

/* Query head h uses key head h / (nhead_q / nhead_k). With all members behind `scale` zero, the problem has
 * sequences of one length each, the enumerator's mask, and the scores scale Q K^T alone:
 *
 *     S = softcap tanh(scale Q K^T / softcap) - slope |d - j|,   P = exp(S) / (exp(sink) + sum of exp(S))
 *
 * Arrays are on the host, and are read during the call only. */
typedef struct {
  int64_t batch;
  int64_t nhead_q;
  int64_t nhead_k;
  int64_t seqlen_q;
  int64_t seqlen_k;
  int64_t hdim_q;
  int64_t hdim_v;
  int dtype;   /* FMHA_BWD_FP16, ... */
  int mask;    /* FMHA_BWD_NO_MASK, ... */
  int layout;  /* FMHA_BWD_BHSD or FMHA_BWD_BSHD, of every tensor but lse and d */
  float scale; /* of the scores */

  int64_t window_left; /* of a window; 0 with other masks */
  int64_t window_right;
  int64_t prefix; /* every query sees the keys j < prefix too; 0 where the mask has a left limit */
  /* Queries and keys alike are cut before each of these tokens, and see only what is in their own part. */
  const int64_t* document_ends; /* [documents], positive and ascending */
  int64_t documents;

  /* Group mode where not NULL: sequence b has seqlens_q[b] queries and seqlens_k[b] keys. Their rows follow
   * one another, as those of one sequence; seqlen_q and seqlen_k are not read. */
  const int64_t* seqlens_q; /* [batch] */
  const int64_t* seqlens_k; /* [batch] */

  float softcap;           /* 0: none */
  int alibi;               /* 1: fmha_bwd_tensors.slopes */
  int sink;                /* 1: fmha_bwd_tensors.sink, and its gradient dsink */
  float dropout;           /* the probability that an element of P is dropped, in [0, 1); to within 2^-17 */
  uint64_t dropout_seed;   /* of Philox; the forward and the backward need the same */
  uint64_t dropout_offset; /* of its counter, which goes up by 1 for eight elements; up to 2^60 */
  int deterministic;       /* 1: the same bits in every run */
} fmha_bwd_problem;

/* Device pointers, multiples of 16 bytes; elements of the problem's dtype where void. Shapes are those of
 * FMHA_BWD_BHSD; in group mode batch is 1 in them, and seqlen_q and seqlen_k are the sums of the lengths.
 * What the problem does not have is not read. */
typedef struct {
  void* q;       /* [batch, nhead_q, seqlen_q, hdim_q] */
  void* k;       /* [batch, nhead_k, seqlen_k, hdim_q] */
  void* v;       /* [batch, nhead_k, seqlen_k, hdim_v] */
  void* d_o;     /* [batch, nhead_q, seqlen_q, hdim_v] */
  void* o;       /* [batch, nhead_q, seqlen_q, hdim_v] */
  float* lse;    /* [batch, nhead_q, seqlen_q], natural logarithm; -infinity where a query sees no key */
  float* d;      /* [batch, nhead_q, seqlen_q], written by the backward */
  void* dq;      /* [batch, nhead_q, seqlen_q, hdim_q] */
  void* dk;      /* [batch, nhead_k, seqlen_k, hdim_q] */
  void* dv;      /* [batch, nhead_k, seqlen_k, hdim_v] */
  float* dq_acc; /* fmha_bwd_workspace.dq_acc_bytes, 256-byte aligned; NULL where that is 0 */
  void* scratch; /* fmha_bwd_workspace.scratch_bytes, 256-byte aligned; NULL where that is 0 */
  const float* slopes; /* [nhead_q] */
  const float* sink;   /* [nhead_q] */
  float* dsink;        /* [nhead_q] */
  const void* table;   /* what fmha_bwd_table filled, copied to the device; NULL where table_bytes is 0 */
} fmha_bwd_tensors;

/* What a family needs besides the tensors, and its name. */
typedef struct {
  size_t dq_acc_bytes;
  size_t scratch_bytes;
  char family[32];
  size_t table_bytes; /* of the problem's lists: sequences in group mode, and document ends */
} fmha_bwd_workspace;

/* Of `family`; "auto" is the fastest that supports the problem on the current device. */
int fmha_bwd_sizes(const fmha_bwd_problem* problem, const char* family, fmha_bwd_workspace* workspace,
                   char* message, size_t message_bytes);

/* Fills `table`, host memory of `table_bytes`: fmha_bwd_workspace.table_bytes. Copied to the device once, it
 * serves every pass of the problem, of any family. */
int fmha_bwd_table(const fmha_bwd_problem* problem, void* table, size_t table_bytes, char* message,
                   size_t message_bytes);

/* O and LSE of Q, K and V. Reads and writes no other tensor but scratch. */
int fmha_bwd_forward(const fmha_bwd_problem* problem, const char* family, const fmha_bwd_tensors* tensors,
                     void* stream, char* message, size_t message_bytes);

/* D, dQ, dK, dV and dSink of Q, K, V, dO, O and LSE. What the outputs, dq_acc and scratch held before does
 * not matter. */
int fmha_bwd_backward(const fmha_bwd_problem* problem, const char* family, const fmha_bwd_tensors* tensors,
                      void* stream, char* message, size_t message_bytes);

#ifdef __cplusplus
}
#endif

#endif
