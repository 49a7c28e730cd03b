// From a failing case to a smaller one that fails too.
#pragma once

#include <functional>

#include "src/random/random_case.h"

namespace fmha_bwd {

inline constexpr int kMaxShrinkRuns = 200;

/// Takes features away, cuts lengths, heads and head dimensions, and keeps what still fails, until nothing
/// does or `fails` was called kMaxShrinkRuns times. `fails` is asked for valid cases only, and says yes to
/// `failing`.
RandomCase shrunk(const RandomCase& failing, const std::function<bool(const RandomCase&)>& fails);

}  // namespace fmha_bwd
