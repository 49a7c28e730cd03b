/* The CPU reference on a framework's own tensors: the C interface of libfmha_bwd_reference.so, for plain
 * problems.
 *
 * Tensors are in host memory, contiguous [batch, head, row, column]; inputs are fp32, outputs of the
 * arithmetic's type. Each function returns 0, or the program's exit code with one line of why in `message`,
 * cut to `message_bytes` (NULL with 0 where nobody reads it): 2 for bad input, 6 where memory is not enough.
 */
#ifndef FMHA_BWD_REFERENCE_LIBRARY_H
#define FMHA_BWD_REFERENCE_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Query head h uses key head h / (nhead_q / nhead_k). */
typedef struct {
  int64_t batch;
  int64_t nhead_q;
  int64_t nhead_k;
  int64_t seqlen_q;
  int64_t seqlen_k;
  int64_t hdim_q;
  int64_t hdim_v;
  int mask;    /* 0 no_mask, 1 top_left, 2 bottom_right */
  int real;    /* the arithmetic and the outputs: 32 for float, 64 for double */
  float scale; /* of the scores */
  int threads; /* 0: as many as the machine has */
} fmha_bwd_reference_problem;

/* O [batch, nhead_q, seqlen_q, hdim_v] and LSE [batch, nhead_q, seqlen_q]; -infinity where a query sees no
 * key. */
int fmha_bwd_reference_forward(const fmha_bwd_reference_problem* problem, const float* q, const float* k,
                               const float* v, void* o, void* lse, char* message, size_t message_bytes);

/* D as LSE, dQ, dK and dV as Q, K and V, of those and of dO, O and LSE. */
int fmha_bwd_reference_backward(const fmha_bwd_reference_problem* problem, const float* q, const float* k,
                                const float* v, const float* d_o, const void* o, const void* lse, void* d,
                                void* dq, void* dk, void* dv, char* message, size_t message_bytes);

/* The instruction set in use: AVX3 (which is AVX-512), AVX2, SSE4, NEON ... */
const char* fmha_bwd_reference_simd(void);

#ifdef __cplusplus
}
#endif

#endif
