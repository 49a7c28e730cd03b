// Dynamic shared memory of a block of the hopper kernels, in bytes: what their launches ask for; `hdim`
// is one of tiling.h's head_dims, for the forward 64 or 128. Stages 1 and 3 have none.
#pragma once

namespace fmha_bwd::nvidia::hopper {

int forward_shared_bytes(int hdim);
int dq_dk_dv_shared_bytes(int hdim);

}  // namespace fmha_bwd::nvidia::hopper
