// Kernels that use shared memory, well and badly. They expect one row of threads.
#pragma once

#include <cstdint>

#include "kernels/platform/emulator/hip/hip_runtime.h"

namespace fmha_bwd::test_kernels {

/// Lane 0 reads, or writes, `bytes` (1, 2, 4, 8 or 16) at `offset` bytes from the start of shared memory.
/// Before, all lanes together write the first `filled` bytes and meet.
__global__ void read_shared(std::ptrdiff_t offset, int bytes, int filled, unsigned* out);
__global__ void write_shared(std::ptrdiff_t offset, int bytes);
__global__ void add_to_shared(std::ptrdiff_t offset);
/// Workgroup 0 fills its shared memory; workgroup 1 reads without that.
__global__ void read_what_another_workgroup_wrote(int* out);
/// Sums the even elements of shared memory, the only ones that are written.
__global__ void sum_even_elements(int count, int* out);

// All elements are written, and a barrier passed. Thread i writes element i, then reads element (i +
// distance) % n; between lies ...
__global__ void neighbour_after_nothing(unsigned distance, int* out);
__global__ void neighbour_after_barrier(unsigned distance, int* out);
__global__ void neighbour_after_shuffle(unsigned distance, int* out);
__global__ void neighbour_after_vote(unsigned distance, int* out);

/// Thread `writer` alone writes the word that all have just read.
__global__ void write_after_read(unsigned writer, int* out);
/// The same with a barrier between.
__global__ void write_after_read_and_barrier(unsigned writer, int* out);
/// Wave 1 reads a word, then wave 0 shuffles and writes it.
__global__ void shuffle_that_orders_another_wave(int* out);
/// Threads `first` and `second` write one word.
__global__ void write_twice(unsigned first, unsigned second);
/// Every thread writes its own byte, then its own half word, of words that are shared by four and two.
__global__ void write_parts_of_words(std::uint8_t* bytes, std::uint16_t* halves);
/// Threads 0 and 1 write a half of one word each; then thread 2 reads that of thread `whose`.
__global__ void read_half_of_a_word(unsigned whose, int* out);
/// Threads i and i ^ 1 write one byte.
__global__ void write_same_bytes();
/// Thread 0 reads a word's byte 0, shuffles, and reads byte 1; then thread 1 writes byte 0.
__global__ void read_bytes_at_different_times(int* out);
/// All add to one counter; then thread `reader` reads it, with no barrier where `barrier` is false.
__global__ void atomics_then_read(unsigned reader, bool barrier, int* out);
/// Thread `writer` writes the counter that the others add to.
__global__ void atomics_and_write(unsigned writer);

}  // namespace fmha_bwd::test_kernels
