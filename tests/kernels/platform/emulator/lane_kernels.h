// Kernels about lanes, waves and barriers. All but write_indices expect one row of threads.
#pragma once

#include "kernels/platform/emulator/hip/hip_runtime.h"

namespace fmha_bwd::test_kernels {

struct Indices {
  unsigned thread[3];
  unsigned block[3];
  unsigned block_dim[3];
  unsigned grid_dim[3];
  bool operator==(const Indices&) const = default;
};
/// out[the thread's place in the grid, x fastest, block by block]
__global__ void write_indices(Indices* out);

/// out[i] = in[n - 1 - i] within each workgroup of n threads, through n ints of shared memory.
__global__ void reverse(const int* in, int* out);
/// out[i] = sum over 100 rounds of what the round's neighbour brought, with two barriers a round.
__global__ void rotate_a_hundred_times(int* out);
/// Wave w takes part in 10 * w shuffles, then meets the others at a barrier. out[i] = how often lane 0's
/// count came.
__global__ void waves_go_their_own_ways(int* out);
/// Wave w passes its number of wave functions without ever meeting another. out[i] = shuffles done.
__global__ void only_wave_0_shuffles(int rounds, int* out);
/// out[thread of the grid] = how many came before.
__global__ void note_turns(unsigned* counter, unsigned* out);
__global__ void do_nothing();

// Wrong, every one.
__global__ void two_barriers(int first_lanes);
__global__ void barrier_after_exit(int lanes_that_stay);
__global__ void barriers_in_a_loop_of_own_length();
__global__ void shuffle_after_exit(int lanes_that_stay);
__global__ void two_shuffles(int first_lanes);
__global__ void shuffle_and_ballot(int first_lanes);
__global__ void barrier_or_shuffle(int lanes_at_the_barrier);
/// In that workgroup lanes diverge; in the others ended[workgroup] becomes 1.
__global__ void fail_in_workgroup(unsigned workgroup, int* ended);

// The lines of the calls, in the order of the sources.
extern const int two_barriers_lines[2];
extern const int barrier_or_shuffle_lines[2];

}  // namespace fmha_bwd::test_kernels
