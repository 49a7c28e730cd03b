// How often a sample finds a fault in one row at the boundary of a tile, and how often it says that it does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "reference/sample.h"
#include "reference/verify.h"
#include "tests/reference/planted_fault.h"

namespace fmha_bwd {
namespace {

constexpr std::int64_t kLength = 4096;
constexpr std::uint64_t kSeeds = 100;

const testing::SoundDevice& device() {
  static const testing::SoundDevice one({1, 1, 1, kLength, kLength, 16, 16, DType::fp16, 0.25F},
                                        kBottomRight);
  return one;
}

/// One element of a row at a tile's boundary, of dQ and dK in turns.
struct Fault {
  TensorId id;
  std::int64_t element;
};

/// At the boundaries of the tiles [first, end).
Fault fault_of(std::uint64_t seed, std::int64_t first, std::int64_t end) {
  std::mt19937_64 engine(seed);
  const auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(bound));
  };
  const std::int64_t tile = first + below(end - first);
  const std::int64_t row = tile * kSampleTile + (below(2) == 0 ? 0 : kSampleTile - 1);
  const TensorId id = seed % 2 == 0 ? TensorId::dq : TensorId::dk;
  const std::int64_t columns = shape_of(id, device().problem()).column;
  return {id, row * columns + below(columns)};
}

/// Of kSeeds faults, how many fail their tensor; without them all pass.
std::int64_t caught(std::int64_t rows, std::int64_t first_tile, std::int64_t end_tile) {
  std::int64_t count = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Reference reference = device().reference(device().sample(rows, seed));
    const Fault fault = fault_of(seed, first_tile, end_tile);
    EXPECT_TRUE(verify(fault.id, device().output(fault.id), reference).passed) << seed;
    const HostTensor faulty = device().output_with(fault.id, fault.element, device().rms(fault.id));
    if (!verify(fault.id, faulty, reference).passed) ++count;
  }
  return count;
}

TEST(SampleCatch, AFaultAtATilesBoundaryWhereTheSampleStatesCertainty) {
  constexpr std::int64_t kRows = 512;
  const SampledRows stated = sampled_rows(device().sample(kRows, 0));
  ASSERT_EQ(stated.queries.boundary_missed, 0.0);
  ASSERT_EQ(stated.keys.boundary_missed, 0.0);
  EXPECT_GE(caught(kRows, 0, kLength / kSampleTile), 99);
}

TEST(SampleCatch, AFaultAsOftenAsTheSampleStates) {
  // Of the boundaries that are no edges, about half.
  constexpr std::int64_t kRows = 128;
  const Sample sample = device().sample(kRows, 0);
  const double missed = chance_missed_one(sample.queries.classes.at(1));
  ASSERT_GT(missed, 0.4);
  ASSERT_LT(missed, 0.6);
  ASSERT_EQ(chance_missed_one(sample.keys.classes.at(1)), missed);
  const double expected = (1.0 - missed) * static_cast<double>(kSeeds);
  const double deviation = std::sqrt(expected * missed);
  const std::int64_t count = caught(kRows, 1, kLength / kSampleTile - 1);
  EXPECT_LT(std::abs(static_cast<double>(count) - expected), 4.0 * deviation) << count;
}

}  // namespace
}  // namespace fmha_bwd
