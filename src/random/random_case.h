// Random valid problems over the whole problem space.
#pragma once

#include <cstdint>

#include "base/fill.h"
#include "base/mask_spec.h"
#include "base/problem.h"

namespace fmha_bwd {

/// A problem, its mask and its inputs.
struct RandomCase {
  Problem problem;
  MaskSpec mask;
  Fill fill;
};

/// Multiply-adds of a drawn case's scores are at most about this many, so that the emulator needs a fraction
/// of a second.
inline constexpr double kMaxRandomWork = 1.5e7;

/// Case `number` of `seed`: the same on every machine, whatever the other numbers are. Every feature is
/// drawn, in combinations; lengths and head dimensions are often at the edges of tiles. complaint_about it is
/// nothing.
RandomCase draw_case(std::uint64_t seed, std::uint64_t number);

}  // namespace fmha_bwd
