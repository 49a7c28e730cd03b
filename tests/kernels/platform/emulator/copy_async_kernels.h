// Kernels about asynchronous copies. Thread i has element i of `values`, and 16 bytes of shared memory for
// each of its copies; what it reads there is the first of four words.
#pragma once

#include <matrix_core.h>

#include "kernels/platform/emulator/hip/hip_runtime.h"

namespace fmha_bwd::test_kernels {

/// What both copies' first words are at a time.
struct Seen {
  std::uint32_t first;
  std::uint32_t second;
  bool operator==(const Seen&) const = default;
};
struct SeenByLane {
  Seen committed;  // two groups, one a copy
  Seen but_one;    // when all but one group have been waited for
  Seen all;
  bool operator==(const SeenByLane&) const = default;
};
/// Copies elements i and i + n of `values` over 7 and 8, for n threads.
__global__ void copy_two_groups(const uint4* values, SeenByLane* seen);
/// One copy of an element over 7: what is there after a wait before the commit, and after one after it.
__global__ void wait_before_commit(const uint4* values, Seen* seen);
/// Copies where `exists` says so, from there alone.
__global__ void copy_where_exists(const uint4* values, const int* exists, uint4* copies);
/// Every lane copies; then lane i reads what lane i ^ 1 copied, after a barrier or without one.
__global__ void copy_for_neighbour(const uint4* values, bool barrier, std::uint32_t* out);
/// Every lane waits, and reads what it copied; or reads before it waits.
__global__ void copy_and_read(const uint4* values, bool before, std::uint32_t* out);

/// Wrong: copies to `shared_offset` bytes from the start of shared memory, from `from`.
__global__ void copy_between(const void* from, int shared_offset);
__global__ void copy_from_shared();
__global__ void copy_to_device(const uint4* values, uint4* copies);
/// Only lane 0 copies, and never waits.
__global__ void leave_copy_under_way(const uint4* values, bool commit);
/// Lane i ^ 1 reads where lane i's copy goes, with no barrier before the copy.
__global__ void read_then_copy(const uint4* values, std::uint32_t* out);

}  // namespace fmha_bwd::test_kernels
