// How a run is verified: against all of the reference, against a sample of its rows, or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/options.h"

namespace fmha_bwd {

/// What one thread of the reference does in fp64 for each lane of its vectors, about: less than it does
/// alone, for the cores of a large machine share much.
inline constexpr double kFlopsPerSecondAndLane = 4e9;
inline constexpr double kFullLimitSeconds = 60.0;    // a longer one is sampled, unless --verify full
inline constexpr std::int64_t kDefaultRows = 16384;  // of a sample; halved while it takes longer than that
inline constexpr std::int64_t kLeastRows = 256;      // but not below these

/// "automatic", "full", "sample" or "none".
std::string_view name_of(VerifyHow how);

struct VerificationPlan {
  VerifyHow how = VerifyHow::full;  // full, sample or none
  std::int64_t rows = 0;            // of a sample
  double estimated_seconds = 0.0;   // of what is done
  double full_seconds = 0.0;        // of the whole reference
  std::string reason;               // for the report
};

/// What options.verify asks for; a sample that would have all rows is full. The estimates are for all masks:
/// the products of the reference over the visible pairs of the rows in question, in fp64, and half as long
/// again for the textbook implementation in fp32. The speed is of one thread, in fp64 FLOP/s.
VerificationPlan plan_verification(const Options& options, int threads, double flops_per_second_per_thread);

}  // namespace fmha_bwd
