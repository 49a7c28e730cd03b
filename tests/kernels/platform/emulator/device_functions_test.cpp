// Shuffles, votes and atomics.
#include <limits>
#include <numeric>

#include "tests/kernels/platform/emulator/device_functions_kernels.h"
#include "tests/kernels/platform/emulator/emulator_test.h"

namespace fmha_bwd {
namespace {

using test_kernels::AllTypes;
using test_kernels::Counters;
using test_kernels::Votes;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using Kind = test_kernels::Shuffle;

class Shuffle : public Emulator {
 protected:
  static std::vector<int> shuffled(Kind kind, int argument, int width) {
    const DeviceArray<int> out(128);
    hipLaunchKernelGGL(test_kernels::shuffle_numbers, dim3(1), dim3(128), 0, nullptr, kind, argument, width,
                       out.data());
    EXPECT_EQ(objection(), "");
    return out.values();
  }
  static std::vector<int> shuffled_in_wave(Kind kind, int argument) {
    const DeviceArray<int> out(128);
    hipLaunchKernelGGL(test_kernels::shuffle_numbers_in_wave, dim3(1), dim3(128), 0, nullptr, kind, argument,
                       out.data());
    EXPECT_EQ(objection(), "");
    return out.values();
  }
  /// 100 + source(thread) for 128 threads.
  template <class Source>
  static std::vector<int> numbers(const Source& source) {
    std::vector<int> expected(128);
    for (int i = 0; i < 128; ++i) expected[static_cast<std::size_t>(i)] = 100 + source(i);
    return expected;
  }
};

TEST_F(Shuffle, ReadsOneLaneOfTheGroup) {
  EXPECT_EQ(shuffled(Kind::from, 5, 16), numbers([](int i) { return i / 16 * 16 + 5; }));
  EXPECT_EQ(shuffled(Kind::from, 21, 16), numbers([](int i) { return i / 16 * 16 + 5; }));
  EXPECT_EQ(shuffled(Kind::from, -1, 8), numbers([](int i) { return i / 8 * 8 + 7; }));
}

TEST_F(Shuffle, SwapsLanesByExclusiveOr) {
  EXPECT_EQ(shuffled(Kind::exclusive_or, 1, 2), numbers([](int i) { return i ^ 1; }));
  EXPECT_EQ(shuffled(Kind::exclusive_or, 8, 16), numbers([](int i) { return i ^ 8; }));
  EXPECT_EQ(shuffled(Kind::exclusive_or, 15, 16), numbers([](int i) { return i ^ 15; }));
  EXPECT_EQ(shuffled(Kind::exclusive_or, 0, 16), numbers([](int i) { return i; }));
}

// As on both vendors' hardware: an earlier group can be read, a later one cannot.
TEST_F(Shuffle, AcrossGroupsReadsOnlyEarlierOnes) {
  EXPECT_EQ(shuffled(Kind::exclusive_or, 16, 16), numbers([](int i) { return i % 32 < 16 ? i : i - 16; }));
}

TEST_F(Shuffle, KeepsTheValueAtTheGroupsEdges) {
  EXPECT_EQ(shuffled(Kind::up, 3, 8), numbers([](int i) { return i % 8 < 3 ? i : i - 3; }));
  EXPECT_EQ(shuffled(Kind::down, 3, 8), numbers([](int i) { return i % 8 > 4 ? i : i + 3; }));
  EXPECT_EQ(shuffled(Kind::up, 8, 8), numbers([](int i) { return i; }));
  EXPECT_EQ(shuffled(Kind::down, 8, 8), numbers([](int i) { return i; }));
  EXPECT_EQ(shuffled(Kind::up, 0, 4), numbers([](int i) { return i; }));
}

TEST_F(Shuffle, WithoutAWidthSpansTheWave) {
  for (const auto& [arch, wave] : {std::pair{"gfx942", 64}, {"gfx1100", 32}, {"sm_90a", 32}}) {
    select_arch(arch);
    const int w = wave;
    EXPECT_EQ(shuffled_in_wave(Kind::from, 31), numbers([w](int i) { return i / w * w + 31; })) << arch;
    EXPECT_EQ(shuffled_in_wave(Kind::from, 33), numbers([w](int i) { return i / w * w + 33 % w; })) << arch;
    EXPECT_EQ(shuffled_in_wave(Kind::exclusive_or, w / 2), numbers([w](int i) { return i ^ (w / 2); }))
        << arch;
    EXPECT_EQ(shuffled_in_wave(Kind::up, 1), numbers([w](int i) { return i % w == 0 ? i : i - 1; })) << arch;
    EXPECT_EQ(shuffled_in_wave(Kind::down, 1), numbers([w](int i) { return i % w == w - 1 ? i : i + 1; }))
        << arch;
  }
}

TEST_F(Shuffle, HasAWidthThatIsAPowerOfTwoUpToTheWave) {
  const DeviceArray<int> out(128);
  for (const int width : {3, 128, -1}) {
    hipLaunchKernelGGL(test_kernels::shuffle_numbers, dim3(1), dim3(128), 0, nullptr, Kind::up, 1, width,
                       out.data());
    EXPECT_THAT(report_of_fault(), AllOf(HasSubstr("__shfl_up at "),
                                         HasSubstr("width " + std::to_string(width)), HasSubstr("lane 0")));
  }
}

TEST_F(Shuffle, CarriesEveryTypeWhole) {
  const DeviceArray<AllTypes> out(64);
  hipLaunchKernelGGL(test_kernels::shuffle_all_types, dim3(1), dim3(64), 0, nullptr, out.data());
  ASSERT_EQ(objection(), "");
  const std::vector<AllTypes> actual = out.values();
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(actual[static_cast<std::size_t>(i)], test_kernels::value_of(i < 63 ? i + 1 : i)) << i;
  }
}

class Vote : public Emulator {
 protected:
  static std::vector<Votes> votes(unsigned long long predicates, unsigned threads) {
    const DeviceArray<Votes> out(threads);
    hipLaunchKernelGGL(test_kernels::vote, dim3(1), dim3(threads), 0, nullptr, predicates, out.data());
    EXPECT_EQ(objection(), "");
    return out.values();
  }
};

TEST_F(Vote, HasABitForEveryLaneOfAWaveOf64) {
  EXPECT_THAT(votes(0x8000000000000005u, 64), Each(Votes{0x8000000000000005u, 1, 0}));
  EXPECT_THAT(votes(0, 64), Each(Votes{0, 0, 0}));
  EXPECT_THAT(votes(~0ull, 64), Each(Votes{~0ull, 1, 1}));
}

TEST_F(Vote, IsTakenInEveryWaveOf32Alone) {
  select_arch("sm_90a");
  const std::vector<Votes> actual = votes(0xffffffff00000001u, 64);
  EXPECT_THAT(std::vector<Votes>(actual.begin(), actual.begin() + 32), Each(Votes{1, 1, 0}));
  EXPECT_THAT(std::vector<Votes>(actual.begin() + 32, actual.end()), Each(Votes{0xffffffffu, 1, 1}));
}

TEST_F(Vote, CountsOnlyTheLanesThatExist) { EXPECT_THAT(votes(~0ull, 10), Each(Votes{0x3ff, 1, 1})); }

TEST(Atomic, AddsUpOverWorkgroups) {
  select_arch("gfx942");
  const DeviceArray<Counters> counters(
      std::vector<Counters>{{0, 0, 0, 0, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}});
  hipLaunchKernelGGL(test_kernels::count, dim3(50), dim3(96), 0, nullptr, counters.data());
  ASSERT_EQ(objection(), "");
  const Counters actual = counters.values()[0];
  EXPECT_EQ(actual.sum, 2400.0F);
  EXPECT_EQ(actual.signed_sum, -4800 * 4799 / 2);
  EXPECT_EQ(actual.count, 4800u);
  EXPECT_EQ(actual.wide, 4800ull << 33);
  EXPECT_EQ(actual.largest, 3799);
  EXPECT_EQ(actual.smallest, -1000);
}

TEST(Atomic, GivesEveryLaneTheValueBefore) {
  select_arch("gfx942");
  const DeviceArray<unsigned> counter(std::vector<unsigned>{0});
  const DeviceArray<int> taken(std::vector<int>(20 * 64, 0));
  hipLaunchKernelGGL(test_kernels::take_tickets, dim3(20), dim3(64), 0, nullptr, counter.data(),
                     taken.data());
  ASSERT_EQ(objection(), "");
  EXPECT_THAT(taken.values(), Each(1));
}

TEST(Atomic, WorksInSharedMemory) {
  select_arch("gfx942");
  const DeviceArray<int> out(7);
  hipLaunchKernelGGL(test_kernels::count_in_shared_memory, dim3(7), dim3(160), sizeof(int), nullptr,
                     out.data());
  ASSERT_EQ(objection(), "");
  EXPECT_THAT(out.values(), Each(160));
}

}  // namespace
}  // namespace fmha_bwd
