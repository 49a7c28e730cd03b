// Backward stage 3:  dQ = the fp32 accumulator of dQ, rounded to the problem's dtype.
//
// Bound by memory: it reads 4 bytes and writes 2 an element, 8 elements a thread, one 16-byte store each.
#include "kernels/hip_check.h"
#include "kernels/simt/launch.h"
#include "kernels/simt/tile.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::simt {
namespace {

template <class T>
struct ConvertDqArguments {
  const float* dq_acc;    // [elements]
  T* dq;                  // [elements]
  std::int64_t elements;  // batch * nhead_q * seqlen_q * hdim_q
};

template <class T>
__global__ __launch_bounds__(kThreads) void convert_dq_kernel(ConvertDqArguments<T> a) {
  constexpr int kPackSize = Pack<T>::kSize;
  const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kPackSize;
  if (first + kPackSize <= a.elements) {
    float values[kPackSize];
    read_floats(a.dq_acc + first, values);
    Pack<T> pack;
    FMHA_BWD_UNROLL
    for (int i = 0; i < kPackSize; ++i) pack.elements[i] = from_float<T>(values[i]);
    *reinterpret_cast<Pack<T>*>(a.dq + first) = pack;
  } else {
    for (std::int64_t i = first; i < a.elements; ++i) a.dq[i] = from_float<T>(a.dq_acc[i]);
  }
}

}  // namespace

void launch_convert_dq(const Problem& p, const DeviceTensors& t, hipStream_t stream) {
  const std::int64_t elements = p.batch * p.nhead_q * p.seqlen_q * p.hdim_q;
  with_element_type(p.dtype, [&]<class T>() {
    constexpr std::int64_t kPerBlock = std::int64_t{kThreads} * Pack<T>::kSize;
    const ConvertDqArguments<T> arguments = {t.dq_acc, static_cast<T*>(t.dq), elements};
    launch(convert_dq_kernel<T>, static_cast<unsigned>((elements + kPerBlock - 1) / kPerBlock), 0, stream,
           arguments);
  });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::simt
