// Kernels that do one device function each.
#pragma once

#include "kernels/platform/emulator/hip/hip_runtime.h"

namespace fmha_bwd::test_kernels {

enum class Shuffle { from, exclusive_or, up, down };
/// out[i] = what the shuffle gives thread i, where every thread brings 100 + its number.
__global__ void shuffle_numbers(Shuffle kind, int argument, int width, int* out);
/// The same without a width.
__global__ void shuffle_numbers_in_wave(Shuffle kind, int argument, int* out);

/// Every type that a shuffle takes, from the next lane up. Each of out[i] is thread i + 1's value of it.
struct AllTypes {
  int i;
  unsigned u;
  float f;
  long long ll;
  unsigned long long ull;
  double d;
  bool operator==(const AllTypes&) const = default;
};
__global__ void shuffle_all_types(AllTypes* out);
AllTypes value_of(int thread);

struct Votes {
  unsigned long long ballot;
  int any;
  int all;
  bool operator==(const Votes&) const = default;
};
/// Thread i votes with bit i % 64 of `predicates`.
__global__ void vote(unsigned long long predicates, Votes* out);

struct Counters {
  float sum;
  int signed_sum;
  unsigned count;
  unsigned long long wide;
  int largest;
  int smallest;
};
/// Thread i of the grid adds 0.5 to sum, -i to signed_sum, 1 to count, 2^33 to wide, and brings i - 1000.
__global__ void count(Counters* counters);
/// taken[atomicAdd(counter, 1)] += 1
__global__ void take_tickets(unsigned* counter, int* taken);
/// out[block] = threads of the block, counted in shared memory.
__global__ void count_in_shared_memory(int* out);

}  // namespace fmha_bwd::test_kernels
