// Random inputs. One thread draws the four integers of a Philox counter through hipRAND and writes the
// four elements that they stand for, so that an element's value depends on seed, tensor and index alone.
// It runs once a problem and is bound by fp64 arithmetic, not memory. Compiled without fused multiply-adds:
// the bits must be those of every other platform (base/random.h).
#include "kernels/fill.h"

#include <hiprand/hiprand_kernel.h>

#include "kernels/dispatch.h"
#include "kernels/element.h"
#include "kernels/hip_check.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {
namespace {

constexpr int kThreads = 256;

/// Where a tensor's rows stand in group mode; count is 0 where they are one after the other.
struct RowPlaces {
  using Member = std::int64_t Sequence::*;

  const Sequence* sequences;  // [count]
  std::int64_t count;
  Member first;
  Member place;

  /// The row on the device of row `row` of the shape, which is in the last sequence that starts at or before
  /// it: those that start at the same row before that one are empty.
  __device__ std::int64_t of(std::int64_t row) const {
    if (count == 0) return row;
    std::int64_t found = 0;
    std::int64_t end = count;
    while (end - found > 1) {
      const std::int64_t middle = (found + end) / 2;
      if (sequences[middle].*first <= row) {
        found = middle;
      } else {
        end = middle;
      }
    }
    return sequences[found].*place + row - sequences[found].*first;
  }
};

template <class T>
__global__ __launch_bounds__(kThreads) void fill_kernel(T* data, Shape shape, Strides strides, RowPlaces rows,
                                                        FillRule rule) {
  const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * 4;
  const std::int64_t elements = shape.elements();
  if (first >= elements) return;
  hiprandStatePhilox4_32_10_t state;
  hiprand_init(rule.seed, rule.stream, static_cast<std::uint64_t>(first), &state);
  const uint4 quad = hiprand4(&state);
  const std::uint32_t words[4] = {quad.x, quad.y, quad.z, quad.w};
  for (int i = 0; i < 4; ++i) {
    if (first + i >= elements) break;
    Shape index = shape.index_of(first + i);
    index.row = rows.of(index.row);
    const auto row_number = static_cast<std::uint64_t>((first + i) / shape.column);
    data[strides.offset_of(index)] = from_float<T>(rule.value(words[i], row_number));
  }
}

RowPlaces row_places(TensorId id, const Problem& problem, const Sequence* sequences) {
  const bool has_rows = id == TensorId::q || id == TensorId::k || id == TensorId::v || id == TensorId::d_o;
  if (!problem.grouped() || !has_rows) return {};
  if (id == TensorId::k || id == TensorId::v) {
    return {sequences, problem.batch, &Sequence::first_k, &Sequence::place_k};
  }
  return {sequences, problem.batch, &Sequence::first_q, &Sequence::place_q};
}

}  // namespace

void launch_fill(void* data, TensorId id, const Problem& problem, const Fill& fill, const Sequence* sequences,
                 hipStream_t stream) {
  const Shape shape = shape_of(id, problem);
  const auto blocks = static_cast<unsigned>((shape.elements() + kThreads * 4 - 1) / (kThreads * 4));
  if (blocks == 0) return;
  with_element_type(dtype_of(id, problem), [&]<class T>() {
    hipLaunchKernelGGL(fill_kernel<T>, dim3(blocks), dim3(kThreads), 0, stream, static_cast<T*>(data), shape,
                       place_of(id, problem).strides, row_places(id, problem, sequences),
                       fill_rule(id, problem, fill));
  });
  check_launch("fill");
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
