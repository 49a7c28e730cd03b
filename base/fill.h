// What the inputs hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/host_device.h"
#include "base/problem.h"
#include "base/random.h"
#include "base/tensor.h"

namespace fmha_bwd {

enum class FillKind {
  normal,    // of the fill's standard deviation
  uniform,   // in [0, 1)
  integers,  // -2, -1, 0, 1 or 2
  zeros,
  extreme  // Q and K so that every score is near -120 or +120, by the signs of its query and key; the others
           // normal with standard deviation 3
};

/// "normal", "uniform", "integers", "zeros" or "extreme".
std::string_view name_of(FillKind kind);
/// The inverse of name_of; nothing where no kind has that name.
std::optional<FillKind> fill_kind_named(std::string_view name);

/// How the random inputs are made. Q, K, V, dO, the bias and the sinks are; ALiBi's slopes are not.
struct Fill {
  std::uint64_t seed = 42;
  float standard_deviation = 0.1F;
  FillKind kind = FillKind::normal;
  bool d_o_is_one = false;
};

/// How one tensor is filled, as kernels take it. An element depends on its number in row-major order and, in
/// an extreme fill, on the number of its row.
struct FillRule {
  enum class Map { constant, normal, uniform, integers, signed_rows };

  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  std::uint64_t sign_stream = 0;
  Map map = Map::constant;
  float size = 0.0F;  // the constant, the standard deviation, or the magnitude

  /// Before it is rounded to its type. `integer` is the element's own, `row` its row's number among all.
  FMHA_BWD_HOST_DEVICE float value(std::uint32_t integer, std::uint64_t row) const {
    switch (map) {
      case Map::constant:
        return size;
      case Map::normal:
        return input_value(integer, size);
      case Map::uniform:
        return static_cast<float>(integer >> 8) * 0x1p-24F;
      case Map::integers:
        return static_cast<float>(static_cast<std::int64_t>((std::uint64_t{integer} * 5) >> 32) - 2);
      case Map::signed_rows: {
        const std::uint32_t sign = philox_quad(seed, sign_stream, row)[0] & 1U;
        const double magnitude = static_cast<double>(size) * (1.0 + normal_from_bits(integer) * 0x1p-6);
        return static_cast<float>(sign == 0 ? magnitude : -magnitude);
      }
    }
    return 0.0F;
  }
};

FillRule fill_rule(TensorId id, const Problem& problem, const Fill& fill);

}  // namespace fmha_bwd
