// The element types of Q, K, V, dO and of the gradients, as bits and as exact values.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/host_device.h"

namespace fmha_bwd {

enum class DType { fp16, bf16, fp32 };

/// The storage of one IEEE binary16 element; kernels and host convert it, nothing computes in it.
struct Half {
  std::uint16_t bits;
};

/// The storage of one bfloat16 element (the upper half of an IEEE binary32).
struct Bfloat16 {
  std::uint16_t bits;
};

/// "fp16", "bf16" or "fp32".
std::string_view name_of(DType dtype);
/// The inverse of name_of; nothing where no type has that name.
std::optional<DType> dtype_named(std::string_view name);
/// Bytes of one element.
std::size_t size_of(DType dtype);
/// The unit roundoff u = 2^-p: |round(x) - x| <= u |x| for x in the normal range.
double unit_roundoff(DType dtype);
/// Half the spacing of the subnormal numbers: the largest error of rounding a value near zero.
double subnormal_roundoff(DType dtype);
/// The value nearest to `value` in `dtype`, ties to even; infinite where `value` is beyond the range.
float round_to(DType dtype, float value);

/// Round to nearest, ties to even; overflow gives infinity, NaN stays NaN.
FMHA_BWD_HOST_DEVICE inline Half half_from_float(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return Half{static_cast<std::uint16_t>(sign | 0x7e00u)};
  if (magnitude >= 0x477ff000u) return Half{static_cast<std::uint16_t>(sign | 0x7c00u)};
  if (magnitude < 0x33000001u) return Half{static_cast<std::uint16_t>(sign)};
  if (magnitude < 0x38800000u) {
    // Subnormal: shift the significand (with its hidden bit) down to units of 2^-24.
    const std::uint32_t shift = 126u - (magnitude >> 23);
    const std::uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
    const std::uint32_t half = 1u << (shift - 1);
    const std::uint32_t odd = (significand >> shift) & 1u;
    return Half{static_cast<std::uint16_t>(sign | ((significand + half - 1u + odd) >> shift))};
  }
  const std::uint32_t odd = (magnitude >> 13) & 1u;
  return Half{static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13))};
}

/// Exact.
FMHA_BWD_HOST_DEVICE inline float float_from_half(Half value) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000u) << 16;
  const std::uint32_t magnitude = value.bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  if (magnitude >= 0x400u) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
  const float subnormal = static_cast<float>(magnitude) * 0x1p-24f;
  return sign != 0 ? -subnormal : subnormal;
}

/// Round to nearest, ties to even; overflow gives infinity, NaN stays NaN.
FMHA_BWD_HOST_DEVICE inline Bfloat16 bfloat16_from_float(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return Bfloat16{static_cast<std::uint16_t>((bits >> 16) | 0x40u)};
  return Bfloat16{static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

/// Exact.
FMHA_BWD_HOST_DEVICE inline float float_from_bfloat16(Bfloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

}  // namespace fmha_bwd
