// Which elements of P are dropped: decided on raw Philox integers, so that kernels and reference drop the
// same ones.
//
// Query head g (counted over batch and heads: sequence * nhead_q + head) has a Philox stream of its own. Keys
// 4n .. 4n + 3 of query i take the four integers of counter offset + i * ceil(seqlen_k / 4) + n, with
// seqlen_k the longest sequence's. An element is kept where its integer is below (1 - probability) 2^32,
// rounded to the nearest integer; the probability is the fp32 number.
#pragma once

#include <cstdint>

#include "base/host_device.h"
#include "base/problem.h"
#include "base/random.h"

namespace fmha_bwd {

/// The draws of one problem, as kernels take them.
struct DropoutDraws {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
  std::uint64_t threshold = 0;  // keep below; up to 2^32, which keeps all
  std::int64_t quads_a_row = 0;
  float keep_scale = 1.0F;  // 1 / (1 - probability)

  /// The integers of keys 4 * quad .. 4 * quad + 3.
  FMHA_BWD_HOST_DEVICE PhiloxWords quad(std::int64_t head, std::int64_t query, std::int64_t quad) const {
    const auto position = static_cast<std::uint64_t>(query * quads_a_row + quad);
    return philox_quad(seed, static_cast<std::uint64_t>(head), offset + position);
  }
  FMHA_BWD_HOST_DEVICE bool keeps(std::uint32_t integer) const { return integer < threshold; }
  FMHA_BWD_HOST_DEVICE bool keeps(std::int64_t head, std::int64_t query, std::int64_t key) const {
    // By choices, not by an index: on GPUs that would put the integers into memory.
    const PhiloxWords words = quad(head, query, key / 4);
    const std::uint32_t first = key % 2 == 0 ? words[0] : words[1];
    const std::uint32_t second = key % 2 == 0 ? words[2] : words[3];
    return keeps(key % 4 < 2 ? first : second);
  }
};

DropoutDraws dropout_draws(const Problem& problem);

}  // namespace fmha_bwd
