#include "base/dropout.h"

#include <algorithm>
#include <cmath>

namespace fmha_bwd {

DropoutDraws dropout_draws(const Problem& problem) {
  const Dropout& dropout = problem.dropout;
  const double keep = 1.0 - static_cast<double>(dropout.probability);
  const auto threshold = static_cast<std::uint32_t>(std::max(std::llround(keep * 0x1p16), 1LL));
  return {dropout.seed, dropout.offset, threshold, static_cast<float>(0x1p16 / threshold),
          (problem.seqlen_k + 7) / 8};
}

}  // namespace fmha_bwd
