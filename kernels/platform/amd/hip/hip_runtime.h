// HIP on AMD is the system's own. Debian's HIP 5.2 also expects of clang what clang 22, the first with gfx950
// there, no longer brings: a macro, two conversions and a library of fences.
#pragma once

#include_next <hip/hip_version.h>

#if HIP_VERSION_MAJOR < 6 && __clang_major__ >= 22
#define FMHA_BWD_OLD_HIP_WITH_NEW_CLANG
#endif

#ifdef FMHA_BWD_OLD_HIP_WITH_NEW_CLANG
#if defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__)
#define __AMDGCN_WAVEFRONT_SIZE 32
#else
#define __AMDGCN_WAVEFRONT_SIZE 64
#endif
__device__ inline _Float16 __llvm_amdgcn_rcp_f16(_Float16 x) { return _Float16{1} / x; }
using fmha_bwd_half2 = _Float16 __attribute__((ext_vector_type(2)));
__device__ inline fmha_bwd_half2 __llvm_amdgcn_rcp_2f16(fmha_bwd_half2 x) { return _Float16{1} / x; }
#endif

#include_next <hip/hip_runtime.h>

#ifdef FMHA_BWD_OLD_HIP_WITH_NEW_CLANG
#ifdef __HIP_DEVICE_COMPILE__
#define FMHA_BWD_FENCE(scope)                                                         \
  order == __memory_order_acquire   ? __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, scope) \
  : order == __memory_order_release ? __builtin_amdgcn_fence(__ATOMIC_RELEASE, scope) \
                                    : __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, scope)
/// What hip.bc had: a fence over all memory, of the given order and among the given scope.
extern "C" __device__ inline void __atomic_work_item_fence(__cl_mem_fence_flags /*memory*/,
                                                           __memory_order order, __memory_scope scope) {
  if (scope == __memory_scope_work_group) {
    FMHA_BWD_FENCE("workgroup");
  } else if (scope == __memory_scope_device) {
    FMHA_BWD_FENCE("agent");
  } else {
    FMHA_BWD_FENCE("");
  }
}
#undef FMHA_BWD_FENCE
#endif
#endif
