// Where tensors stand on the device, and the way there and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/sequences.h"
#include "base/tensor.h"

namespace fmha_bwd {
namespace {

using ::testing::ElementsAre;

Problem small_problem() {
  Problem p;
  p.batch = 2;
  p.nhead_q = 6;
  p.nhead_k = 3;
  p.seqlen_q = 4;
  p.seqlen_k = 5;
  p.hdim_q = 7;
  p.hdim_v = 8;
  p.bias = BiasShape::full;
  p.alibi = p.sink = true;
  return p;
}

Problem packed_problem() {
  Problem p = small_problem();
  p.layout = Layout::qkv;
  p.seqlen_k = p.seqlen_q;
  p.hdim_v = p.hdim_q;
  return p;
}

/// Each layout in batch and group mode, with and without padding.
std::map<std::string, Problem> problems() {
  std::map<std::string, Problem> all;
  for (const Layout layout : {Layout::bhsd, Layout::bshd, Layout::qkv}) {
    Problem p = layout == Layout::qkv ? packed_problem() : small_problem();
    p.layout = layout;
    const std::string name(name_of(layout));
    all[name] = p;
    Problem padded = p;
    padded.padded_q = {6};
    padded.padded_k = {layout == Layout::qkv ? 6 : 9};
    all[name + ", padded"] = padded;
    make_grouped(
        p, {3, 0, 4},
        layout == Layout::qkv ? std::vector<std::int64_t>{3, 0, 4} : std::vector<std::int64_t>{0, 2, 5});
    all[name + ", group mode"] = p;
    p.padded_q = {3, 2, 6};
    p.padded_k = layout == Layout::qkv ? p.padded_q : std::vector<std::int64_t>{4, 2, 5};
    all[name + ", group mode, padded"] = p;
  }
  return all;
}

std::vector<std::byte> storage_for(TensorId id, const Problem& p, std::byte content) {
  const std::int64_t elements = storage_elements(place_of(id, p).storage, p);
  return std::vector<std::byte>(static_cast<std::size_t>(elements) * size_of(dtype_of(id, p)), content);
}

HostTensor counting(TensorId id, const Problem& p, float first) {
  std::vector<float> values(static_cast<std::size_t>(shape_of(id, p).elements()));
  std::iota(values.begin(), values.end(), first);
  return tensor_from(values, shape_of(id, p), dtype_of(id, p));
}

TEST(TensorPlace, StridesAreThoseOfTheLayout) {
  Problem p = small_problem();
  EXPECT_EQ(place_of(TensorId::q, p).strides, (Strides{6 * 4 * 7, 4 * 7, 7}));
  EXPECT_EQ(place_of(TensorId::dv, p).strides, (Strides{3 * 5 * 8, 5 * 8, 8}));
  p.layout = Layout::bshd;
  EXPECT_EQ(place_of(TensorId::q, p).strides, (Strides{4 * 6 * 7, 7, 6 * 7}));
  EXPECT_EQ(place_of(TensorId::dv, p).strides, (Strides{5 * 3 * 8, 8, 3 * 8}));
}

TEST(TensorPlace, WhatHasNoColumnsIsContiguousInEveryLayout) {
  for (const Layout layout : {Layout::bhsd, Layout::bshd, Layout::qkv}) {
    Problem p = small_problem();
    p.layout = layout;
    for (const TensorId id : {TensorId::lse, TensorId::d}) {
      EXPECT_EQ(place_of(id, p).strides, (Strides{6 * 4, 4, 1}));
    }
    EXPECT_EQ(place_of(TensorId::bias, p).strides, (Strides{6 * 4 * 5, 4 * 5, 5}));
    EXPECT_EQ(place_of(TensorId::sink, p).strides, (Strides{6, 1, 1}));
  }
}

TEST(TensorPlace, PaddingIsBetweenTheRowsOfHeadsAndOfBatches) {
  Problem p = small_problem();
  p.padded_q = {10};
  p.padded_k = {11};
  EXPECT_EQ(place_of(TensorId::q, p).strides, (Strides{6 * 10 * 7, 10 * 7, 7}));
  EXPECT_EQ(place_of(TensorId::k, p).strides, (Strides{3 * 11 * 7, 11 * 7, 7}));
  EXPECT_EQ(place_of(TensorId::lse, p).strides, (Strides{6 * 10, 10, 1}));
  EXPECT_EQ(storage_elements(TensorId::q, p), 2 * 6 * 10 * 7);
  EXPECT_EQ(storage_elements(TensorId::lse, p), 2 * 6 * 10);
  EXPECT_EQ(storage_elements(TensorId::bias, p), 2 * 6 * 4 * 5);
}

TEST(TensorPlace, InLayoutQkvTheyShareOneTensorOfInputsAndOneOfGradients) {
  const Problem p = packed_problem();
  const std::int64_t row = (6 + 3 + 3) * 7;
  for (const TensorId id : {TensorId::q, TensorId::k, TensorId::v}) {
    EXPECT_EQ(place_of(id, p).storage, TensorId::q);
    EXPECT_EQ(place_of(id, p).strides, (Strides{4 * row, 7, row}));
  }
  for (const TensorId id : {TensorId::dq, TensorId::dk, TensorId::dv}) {
    EXPECT_EQ(place_of(id, p).storage, TensorId::dq);
  }
  EXPECT_EQ(place_of(TensorId::q, p).offset, 0);
  EXPECT_EQ(place_of(TensorId::k, p).offset, 6 * 7);
  EXPECT_EQ(place_of(TensorId::v, p).offset, 9 * 7);
  EXPECT_EQ(place_of(TensorId::dv, p).offset, 9 * 7);
  EXPECT_EQ(storage_elements(TensorId::q, p), 2 * 4 * row);
  EXPECT_EQ(storage_elements(TensorId::dq, p), 2 * 4 * row);
  for (const TensorId id : {TensorId::k, TensorId::v, TensorId::dk, TensorId::dv}) {
    EXPECT_EQ(storage_elements(id, p), 0);
  }
  EXPECT_EQ(place_of(TensorId::o, p).storage, TensorId::o);
  EXPECT_EQ(place_of(TensorId::o, p).strides, (Strides{4 * 6 * 7, 7, 6 * 7}));
}

TEST(TensorPlace, ATensorThatTheProblemDoesNotHaveOwnsNoMemory) {
  Problem p = small_problem();
  p.bias = BiasShape::none;
  p.alibi = p.sink = false;
  for (const TensorId id :
       {TensorId::bias, TensorId::dbias, TensorId::slopes, TensorId::sink, TensorId::dsink}) {
    EXPECT_EQ(storage_elements(id, p), 0) << name_of(id);
  }
}

TEST(TensorPlace, EveryElementHasAPlaceOfItsOwn) {
  for (const auto& [name, p] : problems()) {
    SCOPED_TRACE(name);
    std::map<TensorId, std::set<std::int64_t>> taken;
    for (const TensorId id : kAllTensors) {
      const HostTensor tensor = counting(id, p, 1.0F);
      std::vector<std::byte> storage = storage_for(id, p, std::byte{0});
      tensor_to_device(tensor, id, p, storage);
      std::int64_t written = 0;
      const std::size_t size = size_of(tensor.dtype);
      for (std::size_t at = 0; at < storage.size() / size; ++at) {
        bool any = false;
        for (std::size_t i = 0; i < size; ++i) any = any || storage[at * size + i] != std::byte{0};
        if (!any) continue;
        ++written;
        const bool is_new = taken[place_of(id, p).storage].insert(static_cast<std::int64_t>(at)).second;
        ASSERT_TRUE(is_new) << name_of(id) << " shares element " << at;
      }
      ASSERT_EQ(written, tensor.shape.elements()) << name_of(id);
    }
  }
}

TEST(TensorPlace, WhatGoesToTheDeviceComesBackAndPaddingIsLeftAlone) {
  for (const auto& [name, p] : problems()) {
    SCOPED_TRACE(name);
    for (const TensorId id : kAllTensors) {
      const HostTensor tensor = counting(id, p, 1.0F);
      std::vector<std::byte> storage = storage_for(id, p, std::byte{0x5a});
      tensor_to_device(tensor, id, p, storage);
      const HostTensor back = tensor_from_device(storage, id, p);
      ASSERT_EQ(back.dtype, tensor.dtype) << name_of(id);
      ASSERT_EQ(back.shape, tensor.shape) << name_of(id);
      ASSERT_EQ(back.bytes, tensor.bytes) << name_of(id);
      // The same bytes out of other padding.
      std::vector<std::byte> other = storage_for(id, p, std::byte{0xa5});
      tensor_to_device(tensor, id, p, other);
      std::size_t same = 0;
      for (std::size_t i = 0; i < storage.size(); ++i) same += storage[i] == other[i] ? 1 : 0;
      ASSERT_EQ(same, tensor.bytes.size()) << name_of(id);
    }
  }
}

TEST(TensorPlace, TensorsOfOneMemoryDoNotDisturbEachOther) {
  const Problem p = packed_problem();
  std::vector<std::byte> storage = storage_for(TensorId::q, p, std::byte{0});
  const std::vector<TensorId> ids = {TensorId::q, TensorId::k, TensorId::v};
  for (const TensorId id : ids) {
    tensor_to_device(counting(id, p, 400.0F * static_cast<float>(id)), id, p, storage);
  }
  for (const TensorId id : ids) {
    EXPECT_EQ(tensor_from_device(storage, id, p).bytes,
              counting(id, p, 400.0F * static_cast<float>(id)).bytes);
  }
}

TEST(TensorPlace, TheHostCopyIsRowMajorWhateverTheLayout) {
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
}

TEST(TensorPlace, APackedRowHoldsTheHeadsOfQThenKThenV) {
  Problem p;
  p.batch = 1;
  p.nhead_q = 2;
  p.nhead_k = 1;
  p.seqlen_q = p.seqlen_k = 2;
  p.hdim_q = p.hdim_v = 1;
  p.dtype = DType::fp32;
  p.layout = Layout::qkv;
  const std::vector<float> rows = {0, 1, 2, 3, 4, 5, 6, 7};  // q0 q1 k v of row 0, then of row 1
  const auto bytes = tensor_from(rows, {1, 1, 2, 4}, p.dtype).bytes;
  EXPECT_THAT(values_of(tensor_from_device(bytes, TensorId::q, p)), ElementsAre(0, 4, 1, 5));
  EXPECT_THAT(values_of(tensor_from_device(bytes, TensorId::k, p)), ElementsAre(2, 6));
  EXPECT_THAT(values_of(tensor_from_device(bytes, TensorId::v, p)), ElementsAre(3, 7));
}

TEST(TensorPlace, InGroupModeTheHostCopyLeavesThePaddingOut) {
  Problem p;
  p.nhead_q = p.nhead_k = 2;
  p.hdim_q = p.hdim_v = 1;
  p.dtype = DType::fp32;
  make_grouped(p, {1, 2}, {1, 1});
  p.padded_q = {2, 3};
  p.padded_k = {2, 2};
  const std::vector<float> stored = {0, -1, 1, 2, -1, 3, -1, 4, 5, -1};  // [1, 2 heads, 5 rows, 1]
  const auto bytes = tensor_from(stored, {1, 2, 5, 1}, p.dtype).bytes;
  EXPECT_THAT(values_of(tensor_from_device(bytes, TensorId::q, p)), ElementsAre(0, 1, 2, 3, 4, 5));
  const auto key_bytes = tensor_from({0, -1, 1, -1, 2, -1, 3, -1}, {1, 2, 4, 1}, p.dtype).bytes;
  EXPECT_THAT(values_of(tensor_from_device(key_bytes, TensorId::k, p)), ElementsAre(0, 1, 2, 3));
  p.layout = Layout::bshd;
  const std::vector<float> by_rows = {0, 3, -1, -1, 1, 4, 2, 5, -1, -1};  // [1, 5 rows, 2 heads, 1]
  const auto row_bytes = tensor_from(by_rows, {1, 5, 2, 1}, p.dtype).bytes;
  EXPECT_THAT(values_of(tensor_from_device(row_bytes, TensorId::q, p)), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(TensorPlace, MemoryOrTensorsOfAnotherSizeAreRefused) {
  const Problem p = small_problem();
  std::vector<std::byte> storage = storage_for(TensorId::q, p, std::byte{0});
  EXPECT_THROW(tensor_from_device(storage, TensorId::k, p), std::invalid_argument);
  HostTensor tensor = counting(TensorId::q, p, 0.0F);
  EXPECT_THROW(tensor_to_device(tensor, TensorId::k, p, storage), std::invalid_argument);
  tensor.bytes.pop_back();
  EXPECT_THROW(tensor_to_device(tensor, TensorId::q, p, storage), std::invalid_argument);
  tensor = counting(TensorId::q, p, 0.0F);
  tensor.dtype = DType::bf16;
  EXPECT_THROW(tensor_to_device(tensor, TensorId::q, p, storage), std::invalid_argument);
  tensor = counting(TensorId::q, p, 0.0F);
  storage.pop_back();
  EXPECT_THROW(tensor_to_device(tensor, TensorId::q, p, storage), std::invalid_argument);
}

}  // namespace
}  // namespace fmha_bwd
