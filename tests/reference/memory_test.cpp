// Counts what the reference allocates: this executable's operator new keeps a tally.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "reference/attention.h"

namespace {

std::atomic<std::int64_t> live_bytes = 0;
std::atomic<std::int64_t> peak_bytes = 0;

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  const std::int64_t live = live_bytes += static_cast<std::int64_t>(malloc_usable_size(memory));
  std::int64_t peak = peak_bytes;
  while (live > peak && !peak_bytes.compare_exchange_weak(peak, live)) {
  }
  return memory;
}

// std::stable_sort takes its buffer from here.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

[[gnu::noinline]] void operator delete(void* memory) noexcept {
  live_bytes -= static_cast<std::int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace fmha_bwd {
namespace {

/// The most that is allocated at once, beyond the inputs.
std::int64_t peak_of(std::int64_t seqlen) {
  const Problem problem{1, 1, 1, seqlen, seqlen, 4, 4, DType::fp16, 0.5F};
  const AttentionInputs inputs = draw_inputs(problem, {});
  const std::int64_t before = live_bytes;
  peak_bytes = before;
  exact_attention(problem, kTopLeft, inputs, {2, {}});
  return peak_bytes - before;
}

TEST(Memory, GrowsWithTheSequenceAndNotWithItsSquare) {
  const std::int64_t shorter = peak_of(1024);
  const std::int64_t longer = peak_of(4096);
  EXPECT_GT(longer, 4096 * (4 * 4 + 2) * 8);  // the outputs alone: the tally works
  EXPECT_LE(longer, 4 * shorter);
  EXPECT_LT(longer, 4096 * 4096 / 8);
}

}  // namespace
}  // namespace fmha_bwd
