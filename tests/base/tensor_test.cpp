#include "base/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(Tensor, StridesAreThoseOfTheLayoutOnTheDevice) {
  Problem p = small_problem();
  EXPECT_EQ(strides_of(TensorId::q, p), (Strides{6 * 4 * 7, 4 * 7, 7}));
  EXPECT_EQ(strides_of(TensorId::dv, p), (Strides{3 * 5 * 8, 5 * 8, 8}));
  EXPECT_EQ(strides_of(TensorId::lse, p), (Strides{6 * 4, 4, 1}));
  p.layout = Layout::bshd;
  EXPECT_EQ(strides_of(TensorId::q, p), (Strides{4 * 6 * 7, 7, 6 * 7}));
  EXPECT_EQ(strides_of(TensorId::dv, p), (Strides{5 * 3 * 8, 8, 3 * 8}));
  for (const TensorId id : {TensorId::lse, TensorId::d}) {
    EXPECT_EQ(strides_of(id, p), (Strides{6 * 4, 4, 1}));
  }
}

TEST(Tensor, EveryElementHasAPlaceOfItsOwnInEitherLayout) {
  for (const Layout layout : {Layout::bhsd, Layout::bshd}) {
    Problem p = small_problem();
    p.layout = layout;
    for (const TensorId id : {TensorId::q, TensorId::k, TensorId::v, TensorId::o, TensorId::lse}) {
      const Shape shape = shape_of(id, p);
      std::vector<bool> taken(static_cast<std::size_t>(shape.elements()));
      for (std::int64_t element = 0; element < shape.elements(); ++element) {
        const std::int64_t offset = strides_of(id, p).offset_of(shape.index_of(element));
        ASSERT_FALSE(taken.at(static_cast<std::size_t>(offset))) << name_of(id) << " " << name_of(layout);
        taken[static_cast<std::size_t>(offset)] = true;
      }
    }
  }
}

TEST(Tensor, TheHostCopyIsRowMajorWhateverTheLayout) {
  Problem p;
  p.batch = p.nhead_q = p.nhead_k = p.seqlen_q = p.hdim_q = 2;
  p.seqlen_k = 1;
  p.dtype = DType::fp32;
  const std::vector<float> stored = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const auto bytes = tensor_from(stored, shape_of(TensorId::q, p), p.dtype).bytes;
  EXPECT_EQ(values_of(tensor_from_device(bytes, TensorId::q, p)), stored);
  p.layout = Layout::bshd;
  EXPECT_THAT(values_of(tensor_from_device(bytes, TensorId::q, p)),
              ElementsAre(0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15));
  EXPECT_THROW(tensor_from_device(bytes, TensorId::k, p), std::invalid_argument);
}

TEST(Tensor, OnlyLseAndDAreAlwaysFp32) {
  EXPECT_EQ(dtype_of(TensorId::lse, small_problem()), DType::fp32);
  EXPECT_EQ(dtype_of(TensorId::d, small_problem()), DType::fp32);
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
