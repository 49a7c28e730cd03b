#include "base/dtype.h"

#include <array>

namespace fmha_bwd {
namespace {

struct Properties {
  DType dtype;
  std::string_view name;
  std::size_t size;
  double unit_roundoff;
  double subnormal_roundoff;
};

constexpr std::array<Properties, 3> kProperties = {{
    {DType::fp16, "fp16", 2, 0x1p-11, 0x1p-25},
    {DType::bf16, "bf16", 2, 0x1p-8, 0x1p-134},
    {DType::fp32, "fp32", 4, 0x1p-24, 0x1p-150},
}};

const Properties& properties(DType dtype) { return kProperties.at(static_cast<std::size_t>(dtype)); }

}  // namespace

std::string_view name_of(DType dtype) { return properties(dtype).name; }

std::optional<DType> dtype_named(std::string_view name) {
  for (const Properties& entry : kProperties) {
    if (entry.name == name) return entry.dtype;
  }
  return std::nullopt;
}

std::size_t size_of(DType dtype) { return properties(dtype).size; }
double unit_roundoff(DType dtype) { return properties(dtype).unit_roundoff; }
double subnormal_roundoff(DType dtype) { return properties(dtype).subnormal_roundoff; }

float round_to(DType dtype, float value) {
  switch (dtype) {
    case DType::fp16:
      return float_from_half(half_from_float(value));
    case DType::bf16:
      return float_from_bfloat16(bfloat16_from_float(value));
    case DType::fp32:
      return value;
  }
  return value;
}

}  // namespace fmha_bwd
