// HIP in the emulator: __half is sixteen bits, converted as the base converts them.
#pragma once

#include "base/dtype.h"

namespace hip_emulator {

struct __half {
  unsigned short bits;
};

inline __half __ushort_as_half(unsigned short bits) { return {bits}; }
inline unsigned short __half_as_ushort(__half value) { return value.bits; }
inline float __half2float(__half value) { return fmha_bwd::float_from_half({value.bits}); }
inline __half __float2half_rn(float value) { return {fmha_bwd::half_from_float(value).bits}; }

}  // namespace hip_emulator

using namespace hip_emulator;
