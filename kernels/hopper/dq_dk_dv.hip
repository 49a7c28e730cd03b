// The launch of stage 2, of plain scores.
#include "kernels/hopper/launch_dq_dk_dv.h"
#include "kernels/hopper/shared_bytes.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

int dq_dk_dv_shared_bytes(int hdim) {
  switch (hdim) {
    case 64:
      return sizeof(SharedMemory<64>);
    case 128:
      return sizeof(SharedMemory<128>);
    case head_dims(192, 128):
      return sizeof(SharedMemory<head_dims(192, 128)>);
    case 192:
      return sizeof(SharedMemory<192>);
    default:
      return sizeof(SharedMemory<256>);
  }
}

void launch_dq_dk_dv(const Problem& p, const MaskRule& mask, const DeviceTensors& t, hipStream_t stream) {
  with_types(p, [&]<class T, int kHeadDim>() {
    const bool is_staircase = Staircase::is_one(mask);
    const auto kernel = p.deterministic ? is_staircase ? dq_dk_dv_kernel<T, kHeadDim, Staircase, true, 0>
                                                       : dq_dk_dv_kernel<T, kHeadDim, Mask, true, 0>
                        : is_staircase ? dq_dk_dv_kernel<T, kHeadDim, Staircase, false, 0>
                                        : dq_dk_dv_kernel<T, kHeadDim, Mask, false, 0>;
    const ShareOut share = share_out_of<kHeadDim>(p, mask);
    launch_dq_dk_dv_kernel<kHeadDim>(kernel, dq_dk_dv_arguments<kHeadDim>(p, t, share), stream);
  });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
