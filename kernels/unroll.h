// Loop unrolling in the words of each compiler.
#pragma once

#define FMHA_BWD_PRAGMA(text) _Pragma(#text)

#if defined(__CUDACC__) || defined(__clang__)
#define FMHA_BWD_UNROLL FMHA_BWD_PRAGMA(unroll)
#define FMHA_BWD_UNROLL_BY(times) FMHA_BWD_PRAGMA(unroll times)
#else
#define FMHA_BWD_UNROLL FMHA_BWD_PRAGMA(GCC unroll 64)
#define FMHA_BWD_UNROLL_BY(times) FMHA_BWD_PRAGMA(GCC unroll times)
#endif
