// Loop unrolling in the words of each compiler.
#pragma once

#define FMHA_BWD_PRAGMA(text) _Pragma(#text)

#if defined(__CUDACC__) || defined(__clang__)
#define FMHA_BWD_UNROLL FMHA_BWD_PRAGMA(unroll)
#define FMHA_BWD_UNROLL_BY(times) FMHA_BWD_PRAGMA(unroll times)
#else
// The emulator's: unrolled kernels take GCC five times as long to compile, and run slower on a CPU.
#define FMHA_BWD_UNROLL
#define FMHA_BWD_UNROLL_BY(times)
#endif
