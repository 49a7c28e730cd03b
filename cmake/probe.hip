// What a GPU platform's toolchain must be able to compile, at least.
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#include <hiprand/hiprand_kernel.h>

#include <concepts>

template <std::integral Integer>
__global__ void probe(Integer* to, Integer seed) {
  __shared__ float shared[64];
  shared[threadIdx.x] = __half2float(__float2half_rn(0.5F));
  __syncthreads();
  hiprandStatePhilox4_32_10_t state;
  hiprand_init(static_cast<unsigned long long>(seed), 0, 0, &state);
  to[threadIdx.x] = static_cast<Integer>(hiprand4(&state).x) + static_cast<Integer>(shared[63 - threadIdx.x]);
}

void launch_probe(int* to, hipStream_t stream) {
  hipLaunchKernelGGL(probe<int>, dim3(1), dim3(64), 0, stream, to, 1);
}
