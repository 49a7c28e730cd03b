// How a run is verified: against all of the reference, a sample of it, or not at all.
#pragma once

#include <cstdint>

namespace fmha_bwd {

inline constexpr double kFullLimitSeconds = 60.0;    // longer ones are sampled unless --verify says otherwise
inline constexpr std::int64_t kDefaultRows = 16384;  // of a sample

}  // namespace fmha_bwd
