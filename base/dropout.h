// Which elements of P are dropped: decided on raw Philox integers, so that kernels and reference drop the
// same ones.
//
// Query head g (counted over batch and heads: sequence * nhead_q + head) has a Philox stream of its own. Keys
// 8n .. 8n + 7 of query i take the four integers of counter offset + i * ceil(seqlen_k / 8) + n, with
// seqlen_k the longest sequence's: keys 8n .. 8n + 3 the low 16 bits of the four in their order, keys
// 8n + 4 .. 8n + 7 the high 16 bits. An element is kept where its 16 bits are below
//
//   threshold = (1 - probability) 2^16, rounded to the nearest integer, and at least 1,
//
// with the probability the fp32 number. So the probability in force is a multiple of 2^-16, at most 2^-17 off
// the one asked for (and at most 1 - 2^-16; up to 2^-17 means that all is kept). What is kept is multiplied
// by 2^16 / threshold: the expectation is that of the probability in force.
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
  std::uint32_t threshold = 1U << 16;  // keep below; 1 to 2^16, which keeps all
  float keep_scale = 1.0F;             // 2^16 / threshold
  std::int64_t eights_a_row = 0;

  /// The integers of keys 8 * eight .. 8 * eight + 7.
  FMHA_BWD_HOST_DEVICE PhiloxWords eight(std::int64_t head, std::int64_t query, std::int64_t eight) const {
    const auto position = static_cast<std::uint64_t>(query * eights_a_row + eight);
    return philox_quad(seed, static_cast<std::uint64_t>(head), offset + position);
  }
  /// Whether `key` is kept, whose eight has these integers.
  FMHA_BWD_HOST_DEVICE bool keeps(const PhiloxWords& integers, std::int64_t key) const {
    // By choices, not by an index: on GPUs that would put the integers into memory.
    const std::uint32_t even = key % 4 < 2 ? integers[0] : integers[2];
    const std::uint32_t odd = key % 4 < 2 ? integers[1] : integers[3];
    const std::uint32_t integer = key % 2 == 0 ? even : odd;
    return ((integer >> (static_cast<std::uint32_t>(key) & 4U) * 4U) & 0xffffU) < threshold;
  }
  FMHA_BWD_HOST_DEVICE bool keeps(std::int64_t head, std::int64_t query, std::int64_t key) const {
    return keeps(eight(head, query, key / 8), key);
  }
};

DropoutDraws dropout_draws(const Problem& problem);

}  // namespace fmha_bwd
