#include "base/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

namespace fmha_bwd {
namespace {

using ::testing::ElementsAre;

Problem small_problem() {
  Problem problem;
  problem.batch = 2;
  problem.nhead_q = 6;
  problem.nhead_k = 3;
  problem.seqlen_q = 4;
  problem.seqlen_k = 5;
  problem.hdim_q = 7;
  problem.hdim_v = 8;
  return problem;
}

std::uint64_t checksum_of(const std::vector<HostTensor>& tensors) {
  Checksum checksum;
  for (const HostTensor& tensor : tensors) checksum.add(tensor);
  return checksum.value();
}

TEST(Tensor, ShapesFollowTheProblem) {
  const Problem p = small_problem();
  for (const TensorId id : {TensorId::q, TensorId::dq}) EXPECT_EQ(shape_of(id, p), (Shape{2, 6, 4, 7}));
  for (const TensorId id : {TensorId::k, TensorId::dk}) EXPECT_EQ(shape_of(id, p), (Shape{2, 3, 5, 7}));
  for (const TensorId id : {TensorId::v, TensorId::dv}) EXPECT_EQ(shape_of(id, p), (Shape{2, 3, 5, 8}));
  for (const TensorId id : {TensorId::o, TensorId::d_o}) EXPECT_EQ(shape_of(id, p), (Shape{2, 6, 4, 8}));
  for (const TensorId id : {TensorId::lse, TensorId::d}) EXPECT_EQ(shape_of(id, p), (Shape{2, 6, 4, 1}));
}

TEST(Tensor, ShapesOfTheBiasAreThoseOfItsKind) {
  Problem p = small_problem();
  const auto bias = [&](BiasShape shape) {
    p.bias = shape;
    EXPECT_EQ(shape_of(TensorId::dbias, p), shape_of(TensorId::bias, p));
    return shape_of(TensorId::bias, p);
  };
  EXPECT_EQ(bias(BiasShape::shared), (Shape{1, 1, 4, 5}));
  EXPECT_EQ(bias(BiasShape::head), (Shape{1, 6, 4, 5}));
  EXPECT_EQ(bias(BiasShape::batch), (Shape{2, 1, 4, 5}));
  EXPECT_EQ(bias(BiasShape::full), (Shape{2, 6, 4, 5}));
}

TEST(Tensor, SlopesAndSinksHaveOneElementAQueryHead) {
  for (const TensorId id : {TensorId::slopes, TensorId::sink, TensorId::dsink}) {
    EXPECT_EQ(shape_of(id, small_problem()), (Shape{1, 6, 1, 1}));
  }
}

TEST(Tensor, InGroupModeRowsAreThoseOfAllSequencesButTheBiasHasTheLongest) {
  Problem p = small_problem();
  p.bias = BiasShape::full;
  make_grouped(p, {4, 0, 3}, {1, 2, 5});
  EXPECT_EQ(shape_of(TensorId::q, p), (Shape{1, 6, 7, 7}));
  EXPECT_EQ(shape_of(TensorId::dk, p), (Shape{1, 3, 8, 7}));
  EXPECT_EQ(shape_of(TensorId::v, p), (Shape{1, 3, 8, 8}));
  EXPECT_EQ(shape_of(TensorId::lse, p), (Shape{1, 6, 7, 1}));
  EXPECT_EQ(shape_of(TensorId::bias, p), (Shape{3, 6, 4, 5}));
}

TEST(Tensor, AProblemHasThoseThatItsScoresNeed) {
  Problem p = small_problem();
  using Ids = std::vector<TensorId>;
  EXPECT_EQ(inputs_of(p), (Ids{TensorId::q, TensorId::k, TensorId::v, TensorId::d_o}));
  EXPECT_EQ(gradients_of(p), (Ids{TensorId::dq, TensorId::dk, TensorId::dv}));
  EXPECT_FALSE(has_tensor(p, TensorId::bias));
  EXPECT_FALSE(has_tensor(p, TensorId::dsink));
  EXPECT_FALSE(has_tensor(p, TensorId::slopes));
  p.bias = BiasShape::shared;
  p.alibi = true;
  p.sink = true;
  EXPECT_EQ(inputs_of(p),
            (Ids{TensorId::q, TensorId::k, TensorId::v, TensorId::d_o, TensorId::bias, TensorId::sink}));
  EXPECT_EQ(gradients_of(p),
            (Ids{TensorId::dq, TensorId::dk, TensorId::dv, TensorId::dbias, TensorId::dsink}));
  EXPECT_EQ(outputs_of(p), (Ids{TensorId::o, TensorId::lse, TensorId::d, TensorId::dq, TensorId::dk,
                                TensorId::dv, TensorId::dbias, TensorId::dsink}));
  for (const TensorId id : kAllTensors) EXPECT_TRUE(has_tensor(p, id)) << name_of(id);
}

TEST(Tensor, HasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const TensorId id : kAllTensors) names.insert(name_of(id));
  EXPECT_EQ(names.size(), kAllTensors.size());
  EXPECT_EQ(name_of(TensorId::d_o), "dO");
  EXPECT_EQ(name_of(TensorId::dsink), "dSink");
}

TEST(Tensor, WhatHasOneElementARowOrAHeadIsAlwaysFp32) {
  for (const TensorId id : {TensorId::lse, TensorId::d, TensorId::slopes, TensorId::sink, TensorId::dsink}) {
    EXPECT_EQ(dtype_of(id, small_problem()), DType::fp32);
  }
  EXPECT_EQ(dtype_of(TensorId::bias, small_problem()), DType::fp16);
  EXPECT_EQ(dtype_of(TensorId::dbias, small_problem()), DType::fp16);
  EXPECT_EQ(dtype_of(TensorId::o, small_problem()), DType::fp16);
  EXPECT_EQ(dtype_of(TensorId::dq, small_problem()), DType::fp16);
}

TEST(Tensor, AnOffsetHasTheIndexOfItsPlaceInRowMajorOrder) {
  const Shape shape{2, 3, 5, 7};
  EXPECT_EQ(shape.elements(), 210);
  EXPECT_EQ(shape.index_of(0), (Shape{0, 0, 0, 0}));
  EXPECT_EQ(shape.index_of(6), (Shape{0, 0, 0, 6}));
  EXPECT_EQ(shape.index_of(7), (Shape{0, 0, 1, 0}));
  EXPECT_EQ(shape.index_of(35), (Shape{0, 1, 0, 0}));
  EXPECT_EQ(shape.index_of(105), (Shape{1, 0, 0, 0}));
  EXPECT_EQ(shape.index_of(209), (Shape{1, 2, 4, 6}));
}

TEST(Tensor, ValuesComeBackRoundedToTheType) {
  const std::vector<float> values = {1.0F, -0.1F, 3.14159F};
  const Shape shape{1, 1, 3, 1};
  EXPECT_THAT(values_of(tensor_from(values, shape, DType::fp32)), ElementsAre(1.0F, -0.1F, 3.14159F));
  EXPECT_THAT(values_of(tensor_from(values, shape, DType::fp16)),
              ElementsAre(1.0F, -0.0999755859375F, 3.140625F));
  EXPECT_THAT(values_of(tensor_from(values, shape, DType::bf16)),
              ElementsAre(1.0F, -0.10009765625F, 3.140625F));
  EXPECT_EQ(tensor_from(values, shape, DType::bf16).bytes.size(), 6u);
}

TEST(Tensor, ValuesThatDoNotFillTheShapeAreRefused) {
  EXPECT_THROW(tensor_from({1.0F, 2.0F}, {1, 1, 3, 1}, DType::fp16), std::invalid_argument);
  HostTensor tensor = tensor_from({1.0F, 2.0F}, {1, 1, 2, 1}, DType::fp16);
  tensor.bytes.pop_back();
  EXPECT_THROW(values_of(tensor), std::invalid_argument);
}

TEST(Checksum, ChangesWithAnyBit) {
  const HostTensor tensor = tensor_from(std::vector<float>(9, 0.5F), {1, 1, 9, 1}, DType::fp16);
  const std::uint64_t checksum = checksum_of({tensor});
  for (std::size_t byte = 0; byte < tensor.bytes.size(); ++byte) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      HostTensor flipped = tensor;
      flipped.bytes[byte] ^= std::byte{1} << bit;
      EXPECT_NE(checksum_of({flipped}), checksum) << "byte " << byte << ", bit " << bit;
    }
  }
}

TEST(Checksum, ChangesWithTheOrderOfElementsAndOfTensors) {
  const Shape shape{1, 1, 8, 1};
  const HostTensor rising = tensor_from({1, 2, 3, 4, 5, 6, 7, 8}, shape, DType::fp16);
  const HostTensor swapped = tensor_from({2, 1, 3, 4, 5, 6, 7, 8}, shape, DType::fp16);
  EXPECT_NE(checksum_of({rising}), checksum_of({swapped}));
  EXPECT_NE(checksum_of({rising, swapped}), checksum_of({swapped, rising}));
  EXPECT_EQ(checksum_of({rising, swapped}), checksum_of({rising, swapped}));
}

}  // namespace
}  // namespace fmha_bwd
