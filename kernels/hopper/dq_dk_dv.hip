// The launch of stage 2, of plain scores.
#include "kernels/hopper/launch_dq_dk_dv.h"
#include "kernels/hopper/shared_bytes.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

int dq_dk_dv_shared_bytes(int hdim) {
  return static_cast<int>(hdim == 64 ? sizeof(SharedMemory<64>) : sizeof(SharedMemory<128>));
}

void launch_plain_dq_dk_dv(const Problem& p, const Staircase& mask, const DeviceTensors& t,
                           hipStream_t stream) {
  with_types(p, [&]<class T, int kHeadDim>() {
    const ShareOut share = for_mask(share_out_of<kHeadDim>(p), mask);
    launch_dq_dk_dv_kernel<T, kHeadDim, 0>(share, dq_dk_dv_arguments<kHeadDim>(p, mask, t, share), stream);
  });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
