// Problems with something that happens to scores, for the families that take it: made of one problem in batch
// mode and one in group mode, neither of which has any.
#pragma once

#include <utility>
#include <vector>

#include "base/dropout.h"
#include "base/problem.h"

namespace fmha_bwd {

inline std::vector<Problem> soft_capped(const Problem& batch) {
  std::vector<Problem> problems;
  for (const float softcap : {0.5F, 3.0F, 50.0F}) {
    problems.push_back(batch);
    problems.back().softcap = softcap;
  }
  return problems;
}

/// The second one has rows that see the sink alone.
inline std::vector<Problem> with_sinks(const Problem& batch, const Problem& groups) {
  std::vector<Problem> problems = {batch, batch, groups};
  std::swap(problems[1].seqlen_q, problems[1].seqlen_k);
  for (Problem& problem : problems) problem.sink = true;
  return problems;
}

inline std::vector<Problem> with_dropout(const Problem& batch, const Problem& groups) {
  std::vector<Problem> problems;
  for (const float probability : {0.1F, 0.5F, 0.99F}) {
    problems.push_back(batch);
    problems.back().dropout = {probability, 99, 123};
  }
  problems.push_back(groups);
  problems.back().dropout = {0.3F, 0x123456789abcdef0U, kMaxDropoutOffset};
  return problems;
}

}  // namespace fmha_bwd
