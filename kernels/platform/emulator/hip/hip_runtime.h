// HIP on the CPU: what a kernel source and a host source find behind <hip/hip_runtime.h> in the emulator's
// build. Everything is in a namespace, so that its names never meet those of a real HIP runtime in the same
// program.
//
// Shared memory is dynamic: HIP_DYNAMIC_SHARED(type, name). That is how the emulator knows where it ends. A
// static `__shared__` array does not compile here.
//
// The machine has one device for each architecture of architecture.h; hipSetDevice() picks. A launch runs the
// grid to its end, a workgroup at a time on each of the CPU's threads. Its lanes run one after the other,
// each until it waits for others: a lane that spins until another one does something spins for ever.
//
// What a kernel does wrong abandons the launch, and the next of hipGetLastError(), hipStreamSynchronize(),
// hipDeviceSynchronize(), hipEventSynchronize() and hipMemcpy() returns hipErrorLaunchFailure;
// hipGetErrorString() of it is a report. Caught are: lanes that do not all reach a barrier, or a wave
// function such as __shfl; deadlock; accesses out of bounds, after hipFree(), or of memory that nothing
// wrote; and races in shared memory. The kernel sources are compiled for that by fmha_bwd_emulated_sources()
// (CMakeLists.txt); see instrumentation.cpp.
//
// matrix_core.h has the matrix instructions of the architectures, and NVIDIA's asynchronous copies.
// shared_access_counts.h has launches count their accesses of shared memory, and conflicts of its banks.
//
// The environment's FMHA_BWD_EMULATOR_THREADS limits the threads, and FMHA_BWD_EMULATOR_SEED makes the order
// of workgroups and lanes a random one; launch.h has both as functions.
#pragma once

#include <cmath>

#include "kernels/platform/emulator/device_functions.h"
#include "kernels/platform/emulator/runtime_api.h"
#include "kernels/platform/emulator/string_functions.h"
#include "kernels/platform/emulator/vector_types.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)

#define threadIdx (::hip_emulator::thread_index())
#define blockIdx (::hip_emulator::block_index())
#define blockDim (::hip_emulator::block_dim())
#define gridDim (::hip_emulator::grid_dim())

#define HIP_DYNAMIC_SHARED(type, name) type* const name = static_cast<type*>(::hip_emulator::shared_block());

#define hipLaunchKernelGGL(kernel, grid, block, shared_bytes, stream, ...)   \
  ::hip_emulator::launch((kernel), #kernel, (grid), (block), (shared_bytes), \
                         (stream)__VA_OPT__(, ) __VA_ARGS__)

namespace hip_emulator {

/// Not a macro: hipDeviceProp_t has a member of that name.
inline constexpr struct {
  operator int() const { return wave_size(); }
} warpSize;

}  // namespace hip_emulator

using namespace hip_emulator;
