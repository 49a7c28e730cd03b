#include "base/dropout.h"

#include <cmath>

namespace fmha_bwd {

DropoutDraws dropout_draws(const Problem& problem) {
  const Dropout& dropout = problem.dropout;
  const double keep = 1.0 - static_cast<double>(dropout.probability);
  return {dropout.seed, dropout.offset, static_cast<std::uint64_t>(std::llround(keep * 0x1p32)),
          (problem.seqlen_k + 3) / 4, static_cast<float>(1.0 / keep)};
}

}  // namespace fmha_bwd
