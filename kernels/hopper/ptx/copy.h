// The bulk copy engine (TMA): tiles of tensors and runs of bytes between global and shared memory, completing
// on a barrier (PTX ISA, "cp.async.bulk").
#pragma once

#include "kernels/hopper/map_place.h"
#include "kernels/hopper/ptx/mbarrier.h"
#include "kernels/hopper/tensor_map.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// Loads the box of `map` that starts at a column and row of a head of the sequence at `place` to `to`; what
/// is outside the sequence arrives as zeros. The box's bytes, all of them, count on `barrier`.
__device__ __forceinline__ void load_tile(void* to, const TensorMap& map, int column, int row, int head,
                                          const MapPlace& place, Barrier& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, "
      "%5, %6}], [%7];" ::"r"(shared_address(to)),
      "l"(&map), "r"(column), "r"(place.first_row + row), "r"(head), "r"(place.outer), "r"(place.outermost),
      "r"(shared_address(&barrier))
      : "memory");
}

/// Loads `bytes` bytes, a multiple of 16, between addresses that are multiples of 16.
__device__ __forceinline__ void load_bytes(void* to, const void* from, unsigned bytes, Barrier& barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(&barrier))
      : "memory");
}

/// Stores the box at `from` to the box of `map` that starts at a column and row of a head of the sequence at
/// `place`, without what is outside the sequence. Part of the thread's current store group.
__device__ __forceinline__ void store_tile(const TensorMap& map, int column, int row, int head,
                                           const MapPlace& place, const void* from) {
  asm volatile(
      "cp.async.bulk.tensor.5d.global.shared::cta.bulk_group [%0, {%1, %2, %3, %4, %5}], [%6];" ::"l"(&map),
      "r"(column), "r"(place.first_row + row), "r"(head), "r"(place.outer), "r"(place.outermost),
      "r"(shared_address(from))
      : "memory");
}

/// Ends the thread's store group and waits until shared memory has been read by all of them.
__device__ __forceinline__ void store_commit_and_wait_for_reads() {
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
}

/// Orders ordinary writes to global memory that the thread knows of before what the copy engine reads for it
/// from here on.
__device__ __forceinline__ void fence_async_proxy_of_global() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}

/// Orders the thread's ordinary writes to shared memory before what the copy engine and the tensor cores read
/// after the next barrier.
__device__ __forceinline__ void fence_async_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
