// hipRAND's device API in the emulator: the Philox generator, with the counters that rocRAND and cuRAND use.
#pragma once

#include <hip/hip_runtime.h>

#include <array>
#include <cstdint>

#include "base/random.h"

namespace hip_emulator {

struct hiprandStatePhilox4_32_10_t {
  std::uint64_t seed;
  std::uint64_t subsequence;
  std::uint64_t position;  // of the next integer in the subsequence
};

inline void hiprand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                         hiprandStatePhilox4_32_10_t* state) {
  *state = {seed, subsequence, offset};
}

inline unsigned hiprand(hiprandStatePhilox4_32_10_t* state) {
  const std::uint64_t position = state->position++;
  return fmha_bwd::philox_quad(state->seed, state->subsequence, position / 4)[position % 4];
}

inline uint4 hiprand4(hiprandStatePhilox4_32_10_t* state) {
  if (state->position % 4 == 0) {
    const auto quad = fmha_bwd::philox_quad(state->seed, state->subsequence, state->position / 4);
    state->position += 4;
    return {quad[0], quad[1], quad[2], quad[3]};
  }
  const unsigned x = hiprand(state);
  const unsigned y = hiprand(state);
  const unsigned z = hiprand(state);
  return {x, y, z, hiprand(state)};
}

}  // namespace hip_emulator
