#include "bench/results.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fmha_bwd {
namespace {

Round round_with(const std::vector<double>& single, const std::vector<double>& batch,
                 const std::vector<double>& graph = {}) {
  Round round;
  round.single_ms = single;
  round.batch_ms = batch;
  round.graph_ms = graph;
  return round;
}

TEST(TimeOf, ARoundIsTheMedianOfItsBatches) { EXPECT_EQ(time_of(round_with({9.0}, {3.0, 1.0, 2.5})), 2.5); }

TEST(TimeOf, ARoundWithoutBatchesIsTheMedianOfItsSinglePasses) {
  EXPECT_EQ(time_of(round_with({9.0, 5.0, 7.0, 8.0}, {})), 7.5);
}

TEST(TimeOf, ARoundWithoutSamplesIsNotANumber) {
  EXPECT_TRUE(std::isnan(time_of(round_with({}, {}, {1.0}))));
}

TEST(TimeOf, ACaseIsTheMedianOfItsRounds) {
  BenchCase item;
  EXPECT_TRUE(std::isnan(time_of(item)));
  // Of the pooled batches {1, 1, 1, 1, 1, 4, 6} the median would be 1.
  item.rounds = {round_with({2.0}, {1.0, 1.0, 1.0, 1.0, 1.0}, {3.0}), round_with({20.0}, {4.0}, {30.0}),
                 round_with({200.0}, {6.0}, {300.0, 500.0})};
  EXPECT_EQ(time_of(item), 4.0);
  EXPECT_EQ(single_time_of(item), 20.0);
  EXPECT_EQ(graph_time_of(item), 30.0);
}

TEST(TimeOf, GraphsIsNotANumberWhereNoneWasMeasured) {
  BenchCase item;
  item.rounds = {round_with({2.0}, {1.0})};
  EXPECT_TRUE(std::isnan(graph_time_of(item)));
}

// 2e9 of 4e9 FLOPs and 1e6 bytes in half a millisecond: 4e12 and 8e12 FLOPs, 2e9 bytes a second. Of a peak of
// 1e13 FLOPs a second that is 40%.
TEST(RatesOf, AreAmountsByTime) {
  BenchCase item;
  item.flops = 2e9;
  item.flops_dense = 4e9;
  item.bytes = 1e6;
  item.peak_flops = 1e13;
  const Rates rates = rates_of(item, {}, 0.5);
  EXPECT_DOUBLE_EQ(rates.tflops, 4.0);
  EXPECT_DOUBLE_EQ(rates.tflops_dense, 8.0);
  EXPECT_DOUBLE_EQ(rates.gbytes_per_s, 2.0);
  EXPECT_DOUBLE_EQ(*rates.peak, 0.4);
  EXPECT_FALSE(rates.roofline);
}

// At the peak 2e9 FLOPs take 0.2 ms; 1e6 bytes at 10 GB/s take 0.1 ms and at 2.5 GB/s 0.4 ms. Of 0.5 ms the
// longer is 40% and 80%.
TEST(RatesOf, TheRooflineIsTheLongerOfComputingAndMoving) {
  BenchCase item;
  item.flops = 2e9;
  item.bytes = 1e6;
  item.peak_flops = 1e13;
  BenchContext context;
  context.memory_gbytes_per_s = 10.0;
  EXPECT_DOUBLE_EQ(*rates_of(item, context, 0.5).roofline, 0.4);
  context.memory_gbytes_per_s = 2.5;
  EXPECT_DOUBLE_EQ(*rates_of(item, context, 0.5).roofline, 0.8);
  EXPECT_DOUBLE_EQ(*rates_of(item, context, 0.5).peak, 0.4);
}

TEST(RatesOf, AnUnknownPeakHasNoShares) {
  BenchCase item;
  item.flops = 2e9;
  BenchContext context;
  context.memory_gbytes_per_s = 10.0;
  EXPECT_FALSE(rates_of(item, context, 0.5).peak);
  EXPECT_FALSE(rates_of(item, context, 0.5).roofline);
}

TEST(RatesOf, AreNotNumbersWhereTheTimeIsNone) {
  BenchCase item;
  item.flops = 2e9;
  item.peak_flops = 1e13;
  EXPECT_TRUE(std::isnan(rates_of(item, {}, std::nan("")).tflops));
  EXPECT_TRUE(std::isnan(*rates_of(item, {}, std::nan("")).peak));
}

}  // namespace
}  // namespace fmha_bwd
