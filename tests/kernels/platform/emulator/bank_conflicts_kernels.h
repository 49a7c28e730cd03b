// Kernels that access shared memory where they are told. They expect one row of threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/platform/emulator/hip/hip_runtime.h"

namespace fmha_bwd::test_kernels {

/// The first `filled` bytes, by all threads, and a barrier.
__device__ void fill(std::byte* memory, int filled);

// A native type of 16 bytes, which no compiler takes apart.
using Wide = float __attribute__((vector_size(16)));

// Thread i accesses a T at offsets[i] bytes; with an offset below zero it does not take part. Before a read
// the first `filled` bytes are filled. Reads are for bytes, words, std::uint64_t, Wide and float4, writes for
// words and Wide.
template <class T>
__global__ void read_at(const int* offsets, int filled, T* out);
template <class T>
__global__ void write_at(const int* offsets);
__global__ void add_at(const int* offsets, int filled);
/// The same of `bytes` by memcpy.
__global__ void copy_at(const int* offsets, int filled, int bytes, std::uint8_t* out);

/// Thread i reads its word times[i] times in a loop.
__global__ void read_in_a_loop(const int* offsets, const int* times, int filled, int* out);
/// The threads with even numbers read the word at their offset, then all meet, then the others read.
__global__ void read_around_a_barrier(const int* offsets, int filled, int* out);
__global__ void read_around_a_shuffle(const int* offsets, int filled, int* out);

/// The line of read_at's access.
extern const int kLineOfReadAt;

/// In each workgroup but the second all threads write one word, and in the second too but with a fault then.
__global__ void write_well_but_in_one();

}  // namespace fmha_bwd::test_kernels
