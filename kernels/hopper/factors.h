// What is the same for all of a problem's scores that are not plain, and so is kept out of stage 2's loop:
// stage 1 and the ends of stages 2 and 3 multiply by it. kernels/hopper/scores.h has the formulas.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/dropout.h"
#include "base/problem.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

inline constexpr float kLog2E = 1.44269504F;

struct Factors {
  float lse_less = 0.0F;  // LSE' = LSE log2 e - this
  float d = 1.0F;         // D' = D times this
  float dv = 1.0F;        // dV is P'^T dO times this
  float dx;               // dK and dQ are the products of dX' times this

  explicit Factors(const Problem& p) : dx(p.scale) {
    if (p.plain_scores()) return;
    const DropoutDraws draws = dropout_draws(p);
    const float keep_scale = draws.keep_scale;
    const int less_dropped = std::min(static_cast<int>(std::lround(std::log2(keep_scale))), 12);
    const int shift = less_dropped + (p.softcap > 0.0F ? 2 : 0);  // fp16 holds 2^14 P
    lse_less = p.softcap * kLog2E + static_cast<float>(shift);
    d = 0x1p-16F * static_cast<float>(draws.threshold);
    dv = std::ldexp(keep_scale, -shift);
    dx = p.scale * std::ldexp(keep_scale, -less_dropped);
  }
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
