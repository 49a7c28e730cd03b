#include "base/alibi.h"

#include <bit>
#include <cmath>

namespace fmha_bwd {

std::vector<float> alibi_slopes(std::int64_t heads) {
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  const auto slope = [](std::int64_t number, std::int64_t of) {
    return static_cast<float>(std::exp2(-8.0 * static_cast<double>(number) / static_cast<double>(of)));
  };
  std::vector<float> slopes;
  for (std::int64_t head = 0; head < heads; ++head) {
    slopes.push_back(head < power ? slope(head + 1, power) : slope(2 * (head - power) + 1, 2 * power));
  }
  return slopes;
}

}  // namespace fmha_bwd
