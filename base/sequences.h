// Where the sequences of a problem stand among the rows of its tensors.
#pragma once

#include <cstdint>
#include <vector>

#include "base/problem.h"

namespace fmha_bwd {

/// One sequence: rows [first, first + seqlen) of index `batch` of a tensor's first dimension. "First" counts
/// the rows of tensors without padding (shapes, host copies), "place" those on the device. In batch mode
/// sequence b is batch b and starts at row 0.
struct Sequence {
  std::int64_t batch = 0;
  std::int64_t seqlen_q = 0;
  std::int64_t seqlen_k = 0;
  std::int64_t first_q = 0;
  std::int64_t first_k = 0;
  std::int64_t place_q = 0;
  std::int64_t place_k = 0;
};

/// [problem.batch].
std::vector<Sequence> sequences_of(const Problem& problem);

/// Rows of one batch index on the device, padding included: of Q's side and of K's side.
std::int64_t device_rows_q(const Problem& problem);
std::int64_t device_rows_k(const Problem& problem);

/// Whether some rows on the device belong to no sequence.
bool has_padding(const Problem& problem);

}  // namespace fmha_bwd
