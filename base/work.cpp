#include "base/work.h"

#include "base/sequences.h"

namespace fmha_bwd {

MaskCounts count(const Mask& mask) {
  MaskCounts counts;
  counts.all_pairs = mask.seqlen_q() * mask.seqlen_k();
  counts.rows = mask.seqlen_q();
  counts.keys = mask.seqlen_k();
  for (std::int64_t query = 0; query < mask.seqlen_q(); ++query) {
    const std::int64_t visible = mask.visible_keys(query).size();
    counts.visible_pairs += visible;
    counts.empty_rows += visible == 0 ? 1 : 0;
  }
  for (std::int64_t key = 0; key < mask.seqlen_k(); ++key) {
    counts.empty_keys += mask.visible_queries(key).empty() ? 1 : 0;
  }
  return counts;
}

MaskCounts count(const MaskRule& rule, const Problem& problem) {
  if (!problem.grouped()) return count(Mask(rule, problem.seqlen_q, problem.seqlen_k));
  MaskCounts sum;
  for (const Sequence& sequence : sequences_of(problem)) {
    const MaskCounts counts = count(Mask(rule, sequence.seqlen_q, sequence.seqlen_k));
    sum.all_pairs += counts.all_pairs;
    sum.visible_pairs += counts.visible_pairs;
    sum.rows += counts.rows;
    sum.keys += counts.keys;
    sum.empty_rows += counts.empty_rows;
    sum.empty_keys += counts.empty_keys;
  }
  return sum;
}

namespace {

double pairs_of_all_heads(const Problem& problem, std::int64_t pairs) {
  const std::int64_t heads = (problem.grouped() ? 1 : problem.batch) * problem.nhead_q;
  return static_cast<double>(heads) * static_cast<double>(pairs);
}

}  // namespace

double backward_flops(const Problem& problem, std::int64_t pairs) {
  return pairs_of_all_heads(problem, pairs) *
         static_cast<double>(3 * 2 * problem.hdim_q + 2 * 2 * problem.hdim_v);
}

double forward_flops(const Problem& problem, std::int64_t pairs) {
  return pairs_of_all_heads(problem, pairs) * static_cast<double>(2 * problem.hdim_q + 2 * problem.hdim_v);
}

}  // namespace fmha_bwd
