#include "src/verification_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/tensor.h"
#include "base/work.h"

namespace fmha_bwd {
namespace {

constexpr double kBothPrecisions = 1.5;  // fp64, and the same in fp32 at twice the speed

/// FLOPs a pair of products over hdim_q and of products over hdim_v.
double products(const Problem& problem, int of_hdim_q, int of_hdim_v) {
  return 2.0 *
         (of_hdim_q * static_cast<double>(problem.hdim_q) + of_hdim_v * static_cast<double>(problem.hdim_v));
}

std::int64_t rows_of(TensorId id, const Problem& problem) {
  return has_tensor(problem, id) ? shape_of(id, problem).rows() : 0;
}

std::int64_t most_rows(const Problem& problem) {
  return std::max(
      {rows_of(TensorId::lse, problem), rows_of(TensorId::dk, problem), rows_of(TensorId::dbias, problem)});
}

/// Of all masks and heads.
double visible_pairs(const Options& options) {
  double pairs = 0.0;
  for (const MaskSpec& mask : options.masks) {
    pairs += static_cast<double>(count(mask.rule(), options.problem).visible_pairs);
  }
  const Problem& problem = options.problem;
  return pairs * static_cast<double>((problem.grouped() ? 1 : problem.batch) * problem.nhead_q);
}

/// Two products forward and five backward; two more for dBias.
double full_flops(const Problem& problem, double pairs) {
  const double bias = problem.bias == BiasShape::none ? 0.0 : products(problem, 1, 1);
  return kBothPrecisions * pairs * (products(problem, 4, 3) + bias);
}

/// Five products for the rows of queries (S twice, dP, O, dQ), four for those of keys (S, dP, dK, dV), two
/// for those of dBias; each tensor's rows stand for their share of the pairs.
double sample_flops(const Problem& problem, double pairs, std::int64_t rows) {
  const auto share = [&](TensorId id) {
    const std::int64_t all = rows_of(id, problem);
    return all == 0 ? 0.0 : static_cast<double>(std::min(rows, all)) / static_cast<double>(all);
  };
  return kBothPrecisions * pairs *
         (share(TensorId::lse) * products(problem, 3, 2) + share(TensorId::dk) * products(problem, 2, 2) +
          share(TensorId::dbias) * products(problem, 1, 1));
}

std::string seconds_text(double seconds) {
  return seconds < 1.0 ? "under 1 s" : fmt::format("{:.0f} s", seconds);
}

/// The option as it was given.
std::string sample_option(const Options& options) {
  return options.sample_rows ? fmt::format("--verify sample:{}", *options.sample_rows) : "--verify sample";
}

}  // namespace

std::string_view name_of(VerifyHow how) {
  switch (how) {
    case VerifyHow::automatic:
      return "automatic";
    case VerifyHow::full:
      return "full";
    case VerifyHow::sample:
      return "sample";
    case VerifyHow::none:
      return "none";
  }
  return "";
}

VerificationPlan plan_verification(const Options& options, int threads, double flops_per_second_per_thread) {
  const Problem& problem = options.problem;
  const double speed = threads * flops_per_second_per_thread;
  const double pairs = visible_pairs(options);
  const double full_seconds = full_flops(problem, pairs) / speed;
  const auto seconds_of = [&](std::int64_t rows) { return sample_flops(problem, pairs, rows) / speed; };
  const std::string limit = fmt::format("the limit is {:g} s", kFullLimitSeconds);

  if (!options.verifies()) return {VerifyHow::none, 0, 0.0, full_seconds, "--verify none"};
  const bool automatic = options.verify == VerifyHow::automatic;
  if (options.verify == VerifyHow::full || (automatic && full_seconds <= kFullLimitSeconds)) {
    return {
        VerifyHow::full, 0, full_seconds, full_seconds,
        automatic ? fmt::format("estimated at {}, {}", seconds_text(full_seconds), limit) : "--verify full"};
  }

  std::int64_t rows = options.sample_rows.value_or(kDefaultRows);
  if (!options.sample_rows) {
    while (rows > kLeastRows && seconds_of(rows) > kFullLimitSeconds) rows /= 2;
  }
  const std::string why = automatic
                              ? fmt::format("full is estimated at {}, {}", seconds_text(full_seconds), limit)
                              : sample_option(options);
  if (rows >= most_rows(problem)) {
    return {VerifyHow::full, 0, full_seconds, full_seconds,
            fmt::format("{}; {} rows would be all", why, rows)};
  }
  return {VerifyHow::sample, rows, seconds_of(rows), full_seconds, why};
}

}  // namespace fmha_bwd
