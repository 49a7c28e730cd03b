// The part of HIP's host API that the project uses. All work is done when a call returns.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <tuple>
#include <utility>

#include "kernels/platform/emulator/vector_types.h"

namespace hip_emulator {

enum hipError_t {
  hipSuccess = 0,
  hipErrorInvalidValue = 1,
  hipErrorOutOfMemory = 2,
  hipErrorInvalidConfiguration = 9,
  hipErrorNoDevice = 100,
  hipErrorInvalidDevice = 101,
  hipErrorLaunchFailure = 719,
  hipErrorNotSupported = 801,
};

const char* hipGetErrorName(hipError_t error);
/// Of hipErrorInvalidConfiguration and hipErrorLaunchFailure: the report on this thread's last launch that
/// failed so.
const char* hipGetErrorString(hipError_t error);
/// The last error of this thread, which is then forgotten.
hipError_t hipGetLastError();

struct hipDeviceProp_t {
  char name[256];
  char gcnArchName[256];
  int major;
  int minor;
  int multiProcessorCount;  // CPU threads
  std::size_t totalGlobalMem;
  std::size_t sharedMemPerBlock;  // with hipFuncSetAttribute()
  int warpSize;
};
/// One device for each architecture.
hipError_t hipGetDeviceCount(int* count);
hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device);
enum hipDeviceAttribute_t {
  hipDeviceAttributeClockRate,
  hipDeviceAttributeL2CacheSize,
  hipDeviceAttributeMemoryBusWidth,
  hipDeviceAttributeMemoryClockRate,
};
/// hipErrorNotSupported: an emulated device has none of them, nor an address.
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device);
hipError_t hipDeviceGetPCIBusId(char* text, int bytes, int device);
hipError_t hipSetDevice(int device);
hipError_t hipGetDevice(int* device);
hipError_t hipDriverGetVersion(int* version);
hipError_t hipRuntimeGetVersion(int* version);

enum hipMemcpyKind { hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost = 2, hipMemcpyDeviceToDevice = 3 };
struct ihipStream_t;
using hipStream_t = ihipStream_t*;

hipError_t hipMalloc(void** pointer, std::size_t bytes);
template <class T>
hipError_t hipMalloc(T** pointer, std::size_t bytes) {
  return hipMalloc(reinterpret_cast<void**>(pointer), bytes);
}
hipError_t hipFree(void* pointer);
hipError_t hipMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes);
hipError_t hipMemcpy(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind);
hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind,
                          hipStream_t stream);
hipError_t hipMemset(void* to, int value, std::size_t bytes);
hipError_t hipMemsetAsync(void* to, int value, std::size_t bytes, hipStream_t stream);

hipError_t hipStreamCreate(hipStream_t* stream);
hipError_t hipStreamDestroy(hipStream_t stream);
hipError_t hipStreamSynchronize(hipStream_t stream);
hipError_t hipDeviceSynchronize();

/// Graphs are not emulated: hipStreamBeginCapture returns hipErrorNotSupported, and so do the others.
struct ihipGraph_t;
using hipGraph_t = ihipGraph_t*;
struct ihipGraphExec_t;
using hipGraphExec_t = ihipGraphExec_t*;
enum hipStreamCaptureMode { hipStreamCaptureModeThreadLocal = 1 };
hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode);
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph);
hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* instance, hipGraph_t graph, unsigned long long flags);
hipError_t hipGraphLaunch(hipGraphExec_t instance, hipStream_t stream);
hipError_t hipGraphDestroy(hipGraph_t graph);
hipError_t hipGraphExecDestroy(hipGraphExec_t instance);

struct ihipEvent_t;
using hipEvent_t = ihipEvent_t*;
hipError_t hipEventCreate(hipEvent_t* event);
hipError_t hipEventDestroy(hipEvent_t event);
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream = nullptr);
hipError_t hipEventSynchronize(hipEvent_t event);
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop);

enum hipFuncAttribute { hipFuncAttributeMaxDynamicSharedMemorySize = 8 };
/// Lets a kernel ask for as much on the current device; NVIDIA's allow 48 KiB without.
hipError_t hipFuncSetAttribute(const void* function, hipFuncAttribute attribute, int value);

struct KernelName {
  const char* text;      // as the launch names it
  const void* function;  // nothing to call: the kernel's address
};
void launch_body(const KernelName& kernel, const dim3& grid, const dim3& block, std::size_t shared_bytes,
                 const std::function<void()>& body);

/// hipLaunchKernelGGL. What goes wrong is the thread's last error.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const char* name, const dim3& grid, const dim3& block,
            std::size_t shared_bytes, hipStream_t /*stream*/, Arguments&&... arguments) {
  const std::tuple<Parameters...> values(std::forward<Arguments>(arguments)...);
  launch_body({name, reinterpret_cast<const void*>(kernel)}, grid, block, shared_bytes,
              [&] { std::apply(kernel, values); });
}

}  // namespace hip_emulator
