// Fibers: what a switch keeps.
#include "kernels/platform/emulator/fiber.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

namespace hip_emulator {
namespace {

constexpr std::size_t kStackBytes = 64 * 1024;
struct alignas(16) Stack {
  std::byte bytes[kStackBytes];
};

// An entry takes no arguments: the test's state is here. Atomics, because ThreadSanitizer takes every fiber
// for a thread.
FiberContext thread_context;
std::array<FiberContext, 3> fibers;
std::array<std::atomic<int>, 3> steps;
std::atomic<int> next_fiber;
std::atomic<bool> intact;

void leave(int fiber) {
  FiberContext::switch_between(fibers[static_cast<std::size_t>(fiber)], thread_context);
}

void count_up() {
  FiberContext::entered(thread_context);
  const int self = next_fiber++;
  int mine = 100 * self;  // on this fiber's stack
  double real = std::sqrt(2.0 + self);
  while (true) {
    ++mine;
    real = std::sqrt(real * real);
    steps[static_cast<std::size_t>(self)] = mine;
    if (std::abs(real - std::sqrt(2.0 + self)) > 1e-9) intact = false;
    leave(self);
  }
}

class Fiber : public testing::Test {
 protected:
  void SetUp() override {
    next_fiber = 0;
    intact = true;
    for (auto& step : steps) step = 0;
  }
  void start(std::size_t fiber, FiberContext::Entry entry) {
    fibers[fiber].prepare(stacks_[fiber].get(), kStackBytes, entry);
  }
  static void go_on(std::size_t fiber) { FiberContext::switch_between(thread_context, fibers[fiber]); }

  std::array<std::unique_ptr<Stack>, 3> stacks_ = {std::make_unique<Stack>(), std::make_unique<Stack>(),
                                                   std::make_unique<Stack>()};
};

TEST_F(Fiber, DoesNotRunBeforeItIsSwitchedTo) {
  start(0, count_up);
  EXPECT_EQ(steps[0], 0);
  go_on(0);
  EXPECT_EQ(steps[0], 1);
}

TEST_F(Fiber, GoesOnWhereItLeftWithItsOwnVariables) {
  for (std::size_t fiber = 0; fiber < 3; ++fiber) {
    start(fiber, count_up);
    go_on(fiber);
  }
  for (int round = 2; round < 1000; ++round) {
    for (const std::size_t fiber : {2u, 0u, 1u}) go_on(fiber);
    EXPECT_EQ(steps[0], round);
    EXPECT_EQ(steps[1], 100 + round);
    EXPECT_EQ(steps[2], 200 + round);
  }
  EXPECT_TRUE(intact);
}

TEST_F(Fiber, CanBeStartedAgainHalfWay) {
  start(0, count_up);
  for (int i = 0; i < 5; ++i) go_on(0);
  EXPECT_EQ(steps[0], 5);
  next_fiber = 0;
  start(0, count_up);
  go_on(0);
  EXPECT_EQ(steps[0], 1);
}

void check_the_stack() {
  FiberContext::entered(thread_context);
  // SSE instructions fault on a stack that is not aligned as after a call.
  alignas(16) volatile float aligned[4] = {1, 2, 3, 4};
  intact = reinterpret_cast<std::uintptr_t>(aligned) % 16 == 0 &&
           std::abs(std::hypot(aligned[2], aligned[3]) - 5.0F) < 1e-6F;
  while (true) leave(0);
}

TEST_F(Fiber, HasAnAlignedStack) {
  start(0, check_the_stack);
  go_on(0);
  EXPECT_TRUE(intact);
}

void use_much_stack() {
  FiberContext::entered(thread_context);
  volatile std::byte much[kStackBytes / 2];
  for (std::size_t i = 0; i < sizeof(much); i += 64) much[i] = static_cast<std::byte>(i);
  leave(0);
  for (std::size_t i = 0; i < sizeof(much); i += 64) {
    if (much[i] != static_cast<std::byte>(i)) intact = false;
  }
  while (true) leave(0);
}

TEST_F(Fiber, KeepsALargeFrame) {
  start(0, use_much_stack);
  go_on(0);
  start(1, count_up);
  next_fiber = 1;
  go_on(1);
  go_on(0);
  EXPECT_TRUE(intact);
}

}  // namespace
}  // namespace hip_emulator
