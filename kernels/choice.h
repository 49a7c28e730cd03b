// Which kernel family is the fastest for a problem: looked up among shapes that have been timed.
//
// kernels/choices.inc holds them, as scripts/measure_choice.py writes it on a device. A problem is answered
// by the row of its architecture, its kind of mask, the nearest head dimension that holds its own, and then
// the nearest length and number of heads, as factors. Rows are of plain bf16 scores in batch mode; sinks,
// soft-caps, dropout and the like take the same answer. Architectures that have no rows have no answer, and
// neither have fp32 problems: the order of kernels/families.hip decides then, as it does where the answer
// does not take the problem.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/mask.h"
#include "base/problem.h"
#include "base/sequences.h"

namespace fmha_bwd {

struct MeasuredChoice {
  std::string_view arch;    // "sm_90"
  std::int64_t hdim;        // of Q, K and V
  std::string_view mask;    // "no_mask" or "top_left"
  std::int64_t heads;       // of all sequences
  std::int64_t seqlen;      // of queries and of keys
  std::string_view kernel;  // the family that was the fastest
};

inline std::span<const MeasuredChoice> measured_choices() {
  static constexpr auto kRows = std::to_array<MeasuredChoice>({
#include "kernels/choices.inc"
  });
  return kRows;
}

/// The row of `rows` that answers for a problem on a device of architecture `arch`; nullptr where none does.
inline const MeasuredChoice* choice_for(const Problem& p, const MaskRule& rule, std::string_view arch,
                                        std::span<const MeasuredChoice> rows = measured_choices()) {
  if (p.dtype == DType::fp32) return nullptr;
  const std::string_view mask =
      !p.grouped() && all_see_all(rule, p.seqlen_q, p.seqlen_k) ? "no_mask" : "top_left";
  const std::int64_t hdim = std::max(p.hdim_q, p.hdim_v);
  const auto sequences = static_cast<double>(p.batch);
  const double heads = sequences * static_cast<double>(p.nhead_q);
  const auto rows_q = static_cast<double>(p.grouped() ? device_rows_q(p) : p.batch * p.seqlen_q);
  const auto rows_k = static_cast<double>(p.grouped() ? device_rows_k(p) : p.batch * p.seqlen_k);
  const double seqlen = std::max({rows_q / sequences, rows_k / sequences, 1.0});
  const auto distance = [&](const MeasuredChoice& row) {
    const double factor_of_length = std::abs(std::log2(seqlen / static_cast<double>(row.seqlen)));
    const double factor_of_heads = std::abs(std::log2(heads / static_cast<double>(row.heads)));
    return std::pair(row.hdim, factor_of_length + factor_of_heads);
  };
  const MeasuredChoice* nearest = nullptr;
  for (const MeasuredChoice& row : rows) {
    if (row.arch != arch || row.mask != mask || row.hdim < hdim) continue;
    if (nearest == nullptr || distance(row) < distance(*nearest)) nearest = &row;
  }
  return nearest;
}

/// "fastest of those timed at hdim 128, top_left, 16 heads of 1024".
inline std::string reason_of(const MeasuredChoice& choice) {
  return "fastest of those timed at hdim " + std::to_string(choice.hdim) + ", " + std::string(choice.mask) +
         ", " + std::to_string(choice.heads) + " heads of " + std::to_string(choice.seqlen);
}

}  // namespace fmha_bwd
