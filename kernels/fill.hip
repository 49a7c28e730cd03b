// Normal random inputs. One thread draws the four integers of a Philox counter through hipRAND and writes the
// four elements that they stand for, so that an element's value depends on seed, tensor and index alone.
// It runs once a problem and is bound by fp64 arithmetic, not memory. Compiled without fused multiply-adds:
// the bits must be those of every other platform (base/random.h).
#include "kernels/fill.h"

#include <hiprand/hiprand_kernel.h>

#include "base/error.h"
#include "base/random.h"
#include "kernels/dispatch.h"
#include "kernels/element.h"
#include "kernels/hip_check.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ __launch_bounds__(kThreads) void fill_kernel(T* data, Shape shape, Strides strides,
                                                        std::uint64_t seed, std::uint64_t stream_number,
                                                        float standard_deviation) {
  const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * 4;
  const std::int64_t elements = shape.elements();
  if (first >= elements) return;
  hiprandStatePhilox4_32_10_t state;
  hiprand_init(seed, stream_number, static_cast<std::uint64_t>(first), &state);
  const uint4 quad = hiprand4(&state);
  const std::uint32_t words[4] = {quad.x, quad.y, quad.z, quad.w};
  for (int i = 0; i < 4; ++i) {
    if (first + i >= elements) break;
    data[strides.offset_of(shape.index_of(first + i))] =
        from_float<T>(input_value(words[i], standard_deviation));
  }
}

}  // namespace

void launch_fill(void* data, TensorId id, const Problem& problem, const Fill& fill, hipStream_t stream) {
  const Shape shape = shape_of(id, problem);
  const auto blocks = static_cast<unsigned>((shape.elements() + kThreads * 4 - 1) / (kThreads * 4));
  with_element_type(dtype_of(id, problem), [&]<class T>() {
    hipLaunchKernelGGL(fill_kernel<T>, dim3(blocks), dim3(kThreads), 0, stream, static_cast<T*>(data), shape,
                       strides_of(id, problem), fill.seed, static_cast<std::uint64_t>(id),
                       fill.standard_deviation);
  });
  check_launch("fill");
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
