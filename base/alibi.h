// ALiBi: scores fall off linearly with the distance from the diagonal (Press, Smith and Lewis, "Train short,
// test long", ICLR 2022).
#pragma once

#include <cstdint>
#include <vector>

namespace fmha_bwd {

/// The slopes of `heads` query heads. With n the largest power of two that is no more than `heads`, head
/// h < n has 2^(-8 (h + 1) / n), and the others take every second slope of 2n heads, from the first on.
std::vector<float> alibi_slopes(std::int64_t heads);

}  // namespace fmha_bwd
