// Which matrix cores the code that is being compiled can be for. AMD's compiler reads a source once for each
// architecture and once for the host: a family's kernels are left out of the others' code objects.
#pragma once

#if defined(__HIP_DEVICE_COMPILE__) && __HIP_DEVICE_COMPILE__
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
#define FMHA_BWD_CDNA 1
#endif
#if defined(__GFX11__)
#define FMHA_BWD_GFX11 1
#endif
#if defined(__GFX12__)
#define FMHA_BWD_GFX12 1
#endif
#else
#define FMHA_BWD_CDNA 1
#define FMHA_BWD_GFX11 1
#define FMHA_BWD_GFX12 1
#endif
