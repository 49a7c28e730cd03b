// The reference where memory ends somewhere in it: this executable's operator new fails when it is told to.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "reference/attention.h"
#include "reference/sample.h"
#include "reference/sampled_attention.h"
#include "reference/score_terms.h"

namespace {

std::atomic<std::int64_t> allocations = 0;
std::atomic<std::int64_t> failing = -1;  // the allocation that fails, counted from 0

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
  if (allocations++ == failing) throw std::bad_alloc();
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
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

[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace fmha_bwd {
namespace {

/// Calls compute() with each of `tries` allocations failing, spread over all that it makes: it throws, or
/// needed fewer this time, and always returns.
template <typename Compute>
void expect_an_end(const Compute& compute, std::int64_t tries) {
  allocations = 0;
  compute();
  const std::int64_t all = allocations;
  std::int64_t thrown = 0;
  for (std::int64_t i = 0; i < tries; ++i) {
    allocations = 0;
    failing = all * i / tries;
    try {
      compute();
    } catch (const std::bad_alloc&) {
      ++thrown;
    }
    failing = -1;
  }
  EXPECT_GT(thrown, tries * 9 / 10);
  EXPECT_NO_THROW(compute());
}

/// One head: every chain of the backward pass waits for the one before it.
const Problem kProblem{1, 1, 1, 700, 900, 4, 4, DType::fp16, 0.5F};

TEST(Failure, OfOneTaskEndsAllOthers) {
  const AttentionInputs inputs = draw_inputs(kProblem, {});
  expect_an_end([&] { exact_attention(kProblem, kNoMask, inputs, {.threads = 4}); }, 150);
}

TEST(Failure, OfATaskWhileTheOneBeforeItHasTheTurnEndsTheOneAfterIt) {
  // One tile of queries: all chains take turns at the same one, and spend much of their time on it.
  const Problem one_tile{1, 1, 1, 100, 4000, 256, 1, DType::fp16, 0.1F};
  const AttentionInputs inputs = draw_inputs(one_tile, {});
  expect_an_end([&] { exact_attention(one_tile, kNoMask, inputs, {.threads = 6}); }, 60);
}

TEST(Failure, OfOneTaskOfASampleEndsAllOthers) {
  const AttentionInputs inputs = draw_inputs(kProblem, {});
  const TextbookAttention device = textbook_attention(kProblem, kNoMask, inputs);
  const KnownLseAndD known = {device.lse, device.d};
  const Sample sample = choose_sample(kProblem, kNoMask, 400, 1);
  const ScoreTerms terms(kProblem, kNoMask, InputViews(inputs));
  expect_an_end([&] { sampled_attention<double>(terms, sample, known, {.threads = 4}); }, 100);
}

TEST(Failure, OfProgressEndsAllTasks) {
  const AttentionInputs inputs = draw_inputs(kProblem, {});
  const auto fails = [](double share) {
    if (share > 0.5) throw std::bad_alloc();
  };
  for (const int threads : {1, 2, 4}) {
    EXPECT_THROW(exact_attention(kProblem, kNoMask, inputs, {threads, fails}), std::bad_alloc);
  }
}

}  // namespace
}  // namespace fmha_bwd
