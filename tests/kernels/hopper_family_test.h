// What the tests of the hopper family share: its head dimensions, and on which devices they run.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/kernels/family_test.h"

namespace fmha_bwd {

inline constexpr std::array kTypes = {DType::fp16, DType::bf16};
struct HeadDims {
  std::int64_t q;
  std::int64_t v;
};
/// Each kernel's own.
inline constexpr std::array<HeadDims, 5> kHeadDims = {
    {{64, 64}, {128, 128}, {192, 128}, {192, 192}, {256, 256}}};
inline constexpr Fill kFill = {.seed = 7, .standard_deviation = 1.0F};

class HopperTest : public FamilyTest {
 protected:
  HopperTest() : FamilyTest("hopper") {}

  void SetUp() override {
    if (const auto reason = refusal(Problem{})) GTEST_SKIP() << *reason;
  }

  /// Of the device: as many blocks of stage 2 run at a time.
  std::int64_t multiprocessors() const {
    int count = 0;
    EXPECT_EQ(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, GetParam().index), cudaSuccess);
    return count;
  }

  /// As many tiles of keys as there are blocks in a wave, so that no two blocks share one.
  Extents whole_wave(const HeadDims& hdim) const {
    const std::int64_t keys = hdim.q > 128 || hdim.v > 128 ? 50 : 100;  // of tiles of 64 or 128
    return {1, multiprocessors(), multiprocessors(), 300, keys, hdim.q, hdim.v};
  }

  /// In both types, for all head dimensions, in both layouts, under every mask.
  void expect_right_in_every_form(Extents shape, float standard_deviation) {
    for (const DType dtype : kTypes) {
      for (const HeadDims& hdim : kHeadDims) {
        shape.hdim_q = hdim.q;
        shape.hdim_v = hdim.v;
        expect_right(problem_of(shape, dtype), standard_deviation, {Layout::bhsd, Layout::bshd});
      }
    }
  }
};

}  // namespace fmha_bwd
