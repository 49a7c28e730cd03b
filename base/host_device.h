// One macro that lets the definitions of the base be used by the host and inside kernels.
#pragma once

#if defined(__CUDACC__) || defined(__HIP__)
#define FMHA_BWD_HOST_DEVICE __host__ __device__
#else
#define FMHA_BWD_HOST_DEVICE
#endif
