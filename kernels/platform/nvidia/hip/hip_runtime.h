// HIP on NVIDIA: the hip* names that the project uses, mapped on the CUDA runtime. nvcc compiles what
// includes it.
#pragma once

#include <cuda_fp16.h>  // before the shuffles below are renamed
#include <cuda_runtime.h>

#include <cstdio>

using hipError_t = cudaError_t;
using hipStream_t = cudaStream_t;
using hipEvent_t = cudaEvent_t;

#define hipSuccess cudaSuccess
#define hipErrorOutOfMemory cudaErrorMemoryAllocation
#define hipErrorNotSupported cudaErrorNotSupported
#define hipGetErrorString cudaGetErrorString
#define hipGetLastError cudaGetLastError

#define hipMalloc cudaMalloc
#define hipFree cudaFree
#define hipMemcpy cudaMemcpy
#define hipMemcpyAsync cudaMemcpyAsync
#define hipMemcpyDeviceToDevice cudaMemcpyDeviceToDevice
#define hipMemcpyDeviceToHost cudaMemcpyDeviceToHost
#define hipMemcpyHostToDevice cudaMemcpyHostToDevice
#define hipMemsetAsync cudaMemsetAsync
#define hipMemGetInfo cudaMemGetInfo

#define hipGetDeviceCount cudaGetDeviceCount
#define hipGetDevice cudaGetDevice
#define hipDeviceGetAttribute cudaDeviceGetAttribute
#define hipDeviceAttribute_t cudaDeviceAttr
#define hipDeviceAttributeClockRate cudaDevAttrClockRate
#define hipDeviceAttributeL2CacheSize cudaDevAttrL2CacheSize
#define hipDeviceAttributeMemoryBusWidth cudaDevAttrGlobalMemoryBusWidth
#define hipDeviceAttributeMemoryClockRate cudaDevAttrMemoryClockRate
#define hipDeviceAttributeMultiprocessorCount cudaDevAttrMultiProcessorCount
#define hipDeviceGetPCIBusId cudaDeviceGetPCIBusId
#define hipRuntimeGetVersion cudaRuntimeGetVersion
#define hipSetDevice cudaSetDevice
#define hipStreamCreate cudaStreamCreate
#define hipStreamDestroy cudaStreamDestroy
#define hipStreamSynchronize cudaStreamSynchronize
#define hipEventCreate cudaEventCreate
#define hipEventDestroy cudaEventDestroy
#define hipEventRecord cudaEventRecord
#define hipEventElapsedTime cudaEventElapsedTime

#define hipGraph_t cudaGraph_t
#define hipGraphExec_t cudaGraphExec_t
#define hipStreamCaptureModeThreadLocal cudaStreamCaptureModeThreadLocal
#define hipStreamBeginCapture cudaStreamBeginCapture
#define hipStreamEndCapture cudaStreamEndCapture
#define hipGraphInstantiateWithFlags cudaGraphInstantiateWithFlags
#define hipGraphLaunch cudaGraphLaunch
#define hipGraphDestroy cudaGraphDestroy
#define hipGraphExecDestroy cudaGraphExecDestroy

#define hipFuncSetAttribute cudaFuncSetAttribute
#define hipFuncAttributeMaxDynamicSharedMemorySize cudaFuncAttributeMaxDynamicSharedMemorySize

#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ __align__(16) type name[];
#define hipLaunchKernelGGL(kernel, grid, block, shared_bytes, stream, ...) \
  (kernel)<<<(grid), (block), (shared_bytes), (stream)>>>(__VA_ARGS__)

// HIP's wave functions take part with every lane of the wave.
#define __shfl_xor(...) __shfl_xor_sync(0xffffffffu, __VA_ARGS__)

/// CUDA's properties, and HIP's name of the architecture: "sm_90".
struct hipDeviceProp_t : cudaDeviceProp {
  char gcnArchName[256];
};

inline hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
  const cudaError_t status = cudaGetDeviceProperties(static_cast<cudaDeviceProp*>(properties), device);
  if (status != cudaSuccess) return status;
  std::snprintf(properties->gcnArchName, sizeof(properties->gcnArchName), "sm_%d%d", properties->major,
                properties->minor);
  return cudaSuccess;
}
