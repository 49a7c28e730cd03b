#include "base/sequences.h"

#include <numeric>

namespace fmha_bwd {
namespace {

std::int64_t sum(const std::vector<std::int64_t>& list) {
  return std::accumulate(list.begin(), list.end(), std::int64_t{0});
}

std::int64_t device_rows(const Problem& problem, std::int64_t seqlen,
                         const std::vector<std::int64_t>& seqlens, const std::vector<std::int64_t>& padded) {
  if (!problem.grouped()) return padded.empty() ? seqlen : padded.front();
  return sum(padded.empty() ? seqlens : padded);
}

}  // namespace

std::vector<Sequence> sequences_of(const Problem& problem) {
  std::vector<Sequence> sequences(static_cast<std::size_t>(problem.batch));
  Sequence next;
  for (std::size_t b = 0; b < sequences.size(); ++b) {
    if (!problem.grouped()) {
      sequences[b] = {static_cast<std::int64_t>(b), problem.seqlen_q, problem.seqlen_k, 0, 0, 0, 0};
      continue;
    }
    next.seqlen_q = problem.seqlens_q[b];
    next.seqlen_k = problem.seqlens_k[b];
    sequences[b] = next;
    next.first_q += next.seqlen_q;
    next.first_k += next.seqlen_k;
    next.place_q += problem.padded_q.empty() ? next.seqlen_q : problem.padded_q[b];
    next.place_k += problem.padded_k.empty() ? next.seqlen_k : problem.padded_k[b];
  }
  return sequences;
}

std::int64_t device_rows_q(const Problem& problem) {
  return device_rows(problem, problem.seqlen_q, problem.seqlens_q, problem.padded_q);
}

std::int64_t device_rows_k(const Problem& problem) {
  return device_rows(problem, problem.seqlen_k, problem.seqlens_k, problem.padded_k);
}

bool has_padding(const Problem& problem) {
  const auto rows = [&](std::int64_t seqlen, const std::vector<std::int64_t>& seqlens) {
    return problem.grouped() ? sum(seqlens) : seqlen;
  };
  return device_rows_q(problem) != rows(problem.seqlen_q, problem.seqlens_q) ||
         device_rows_k(problem) != rows(problem.seqlen_k, problem.seqlens_k);
}

}  // namespace fmha_bwd
