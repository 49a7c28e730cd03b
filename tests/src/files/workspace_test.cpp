#include "src/files/workspace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "base/dropout.h"
#include "src/files/npy.h"
#include "tests/src/files/files_test.h"

namespace fmha_bwd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

Problem small_problem(DType dtype = DType::fp32) {
  Problem problem;
  problem.batch = 2;
  problem.nhead_q = 4;
  problem.nhead_k = 2;
  problem.seqlen_q = 3;
  problem.seqlen_k = 5;
  problem.hdim_q = 8;
  problem.hdim_v = 6;
  problem.dtype = dtype;
  return problem;
}

Problem every_tensor(DType dtype) {
  Problem problem = small_problem(dtype);
  problem.bias = BiasShape::full;
  problem.alibi = true;
  problem.sink = true;
  return problem;
}

HostTensor counting(TensorId id, const Problem& problem) {
  const Shape shape = shape_of(id, problem);
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  std::iota(values.begin(), values.end(), -3.0F);
  return tensor_from(values, shape, dtype_of(id, problem));
}

/// A file of zeros.
void put_zeros(const std::filesystem::path& path, NpyType type, const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  put(path,
      npy_start_of(type, shape) + std::string(static_cast<std::size_t>(elements) * size_of(type), '\0'));
}

void put_qkv(const std::filesystem::path& folder, NpyType type = NpyType::float16) {
  put_zeros(folder / "q.npy", type, {2, 4, 3, 8});
  put_zeros(folder / "k.npy", type, {2, 2, 5, 8});
  put_zeros(folder / "v.npy", type, {2, 2, 5, 6});
}

TEST(Workspace, ATensorsFileHasItsNameInLowerCase) {
  std::vector<std::string> names;
  for (const TensorId id : kAllTensors) names.push_back(tensor_file("x", id).string());
  EXPECT_THAT(names, ElementsAre("x/q.npy", "x/k.npy", "x/v.npy", "x/do.npy", "x/o.npy", "x/lse.npy",
                                 "x/d.npy", "x/dq.npy", "x/dk.npy", "x/dv.npy", "x/bias.npy", "x/dbias.npy",
                                 "x/slopes.npy", "x/sink.npy", "x/dsink.npy"));
}

TEST(Workspace, EveryTensorOfEveryTypeIsLoadedAsItWasSaved) {
  const TestFolder folder;
  for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32}) {
    const Problem problem = every_tensor(dtype);
    for (const TensorId id : kAllTensors) {
      const HostTensor saved = counting(id, problem);
      save_tensor(folder.path() / "new", id, saved, "--save");
      EXPECT_TRUE(has_tensor_file(folder.path() / "new", id));
      const HostTensor loaded = load_tensor(folder.path() / "new", id, problem, "--load");
      EXPECT_EQ(loaded.dtype, saved.dtype) << name_of(id);
      EXPECT_EQ(loaded.shape, saved.shape) << name_of(id);
      EXPECT_EQ(loaded.bytes, saved.bytes) << name_of(id) << " " << name_of(dtype);
    }
  }
}

TEST(Workspace, ATensorsBitsAreKeptWhateverTheyAre) {
  const TestFolder folder;
  Problem problem = small_problem(DType::bf16);
  problem.batch = problem.nhead_q = problem.nhead_k = 1;
  problem.seqlen_q = 1 << 13;
  HostTensor all{DType::bf16, shape_of(TensorId::q, problem), {}};
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    all.bytes.push_back(static_cast<std::byte>(bits & 0xff));
    all.bytes.push_back(static_cast<std::byte>(bits >> 8));
  }
  save_tensor(folder.path(), TensorId::q, all, "--save");
  EXPECT_EQ(load_tensor(folder.path(), TensorId::q, problem, "--load").bytes, all.bytes);
}

TEST(Workspace, LseAndPerHeadTensorsAreWrittenWithoutTheirOnes) {
  const TestFolder folder;
  const Problem problem = every_tensor(DType::fp16);
  const auto written = [&](TensorId id) {
    save_tensor(folder.path(), id, counting(id, problem), "--save");
    return read_npy_header(tensor_file(folder.path(), id), "--load");
  };
  EXPECT_THAT(written(TensorId::lse).shape, ElementsAre(2, 4, 3));
  EXPECT_THAT(written(TensorId::d).shape, ElementsAre(2, 4, 3));
  EXPECT_THAT(written(TensorId::dsink).shape, ElementsAre(4));
  EXPECT_THAT(written(TensorId::dbias).shape, ElementsAre(2, 4, 3, 5));
  EXPECT_THAT(written(TensorId::dq).shape, ElementsAre(2, 4, 3, 8));
}

TEST(Workspace, APerHeadTensorMayHaveFourDimensions) {
  const TestFolder folder;
  put_zeros(folder.path() / "sink.npy", NpyType::float32, {1, 4, 1, 1});
  EXPECT_EQ(load_tensor(folder.path(), TensorId::sink, every_tensor(DType::fp16), "--load").shape,
            (Shape{1, 4, 1, 1}));
}

TEST(Workspace, InGroupModeRowsAreThoseOfAllSequences) {
  const TestFolder folder;
  Problem problem = small_problem(DType::fp16);
  make_grouped(problem, {1, 4, 0}, {2, 3, 5});
  put_zeros(folder.path() / "q.npy", NpyType::float16, {1, 4, 5, 8});
  put_zeros(folder.path() / "k.npy", NpyType::float16, {1, 2, 10, 8});
  EXPECT_EQ(load_tensor(folder.path(), TensorId::q, problem, "--load").shape, (Shape{1, 4, 5, 8}));
  EXPECT_EQ(load_tensor(folder.path(), TensorId::k, problem, "--load").shape, (Shape{1, 2, 10, 8}));
}

TEST(Workspace, ATensorOfAnotherShapeIsRefused) {
  const TestFolder folder;
  put_zeros(folder.path() / "q.npy", NpyType::float32, {2, 4, 8, 3});
  EXPECT_THAT(message_of([&] { load_tensor(folder.path(), TensorId::q, small_problem(), "--load"); }),
              AllOf(StartsWith("--load: '"),
                    HasSubstr("q.npy' has shape (2, 4, 8, 3); the problem's is (2, 4, 3, 8)")));
  put_zeros(folder.path() / "sink.npy", NpyType::float32, {5});
  EXPECT_THAT(
      message_of([&] { load_tensor(folder.path(), TensorId::sink, every_tensor(DType::fp16), "--load"); }),
      HasSubstr("has shape (5,); the problem's is (4,)"));
}

TEST(Workspace, ATensorOfAnotherTypeIsRefused) {
  const TestFolder folder;
  const auto refusal = [&](NpyType type, DType dtype) {
    put_zeros(folder.path() / "q.npy", type, {2, 4, 3, 8});
    return message_of([&] { load_tensor(folder.path(), TensorId::q, small_problem(dtype), "--load"); });
  };
  EXPECT_THAT(refusal(NpyType::float16, DType::bf16), HasSubstr("is fp16; the problem's type is bf16"));
  EXPECT_THAT(refusal(NpyType::bits16, DType::fp16), HasSubstr("is bf16; the problem's type is fp16"));
  EXPECT_THAT(refusal(NpyType::float16, DType::fp32), HasSubstr("is fp16; the problem's type is fp32"));
  EXPECT_THAT(refusal(NpyType::boolean, DType::fp16), HasSubstr("has booleans or bytes"));
}

TEST(Workspace, AMissingFileIsRefusedByName) {
  EXPECT_THAT(message_of([&] { load_tensor("/none", TensorId::q, small_problem(), "--load"); }),
              AllOf(StartsWith("--load: '/none/q.npy' cannot be read"), HasSubstr("No such file")));
  EXPECT_FALSE(has_tensor_file("/none", TensorId::q));
}

class NarrowedFile : public ::testing::Test {
 protected:
  /// sink-like problem: Q with eight elements.
  Problem eight_values(DType dtype) const {
    Problem problem = small_problem(dtype);
    problem.batch = problem.nhead_q = problem.nhead_k = problem.seqlen_q = 1;
    return problem;
  }
  void put_q(const std::vector<float>& values) const {
    put(folder_.path() / "q.npy", npy_start_of(NpyType::float32, {1, 1, 1, 8}) + bytes_of(values));
  }
  HostTensor load(DType dtype) const {
    return load_tensor(folder_.path(), TensorId::q, eight_values(dtype), "--load");
  }
  std::string refusal(DType dtype) const {
    return message_of([&] { load(dtype); });
  }

  TestFolder folder_;
};

TEST_F(NarrowedFile, OfFp32IsTakenWhereEveryValueIsExact) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {0.0F, -0.0F, 1.5F, -0.25F, infinity, -infinity, 0x1p-14F, 256.0F};
  put_q(values);
  for (const DType dtype : {DType::fp16, DType::bf16}) {
    const HostTensor tensor = load(dtype);
    EXPECT_EQ(tensor.dtype, dtype);
    EXPECT_EQ(values_of(tensor), values);
    EXPECT_TRUE(std::signbit(values_of(tensor)[1]));
  }
}

TEST_F(NarrowedFile, OfFp32KeepsItsNaNs) {
  put_q({std::nanf(""), 1, 1, 1, 1, 1, 1, 1});
  EXPECT_TRUE(std::isnan(values_of(load(DType::fp16))[0]));
}

TEST_F(NarrowedFile, OfFp32IsRefusedWithTheNumberOfInexactValues) {
  // 2049 needs 12 bits, 1e5 is beyond fp16, 2^-25 below it; 257 needs 9 bits. bf16 has 8 of them.
  put_q({2049.0F, 1e5F, 0x1p-25F, 257.0F, 1.0F, 1.0F, 1.0F, 1.0F});
  EXPECT_THAT(refusal(DType::fp16),
              AllOf(StartsWith("--load: '"), HasSubstr("q.npy' is fp32, and 3 of its 8 values"),
                    HasSubstr("--dtype fp32")));
  EXPECT_THAT(refusal(DType::bf16), HasSubstr("3 of its 8 values are not exact in bf16"));
}

TEST(LoadedShape, IsThatOfQKAndV) {
  const TestFolder folder;
  for (const auto& [type, dtype] : {std::pair{NpyType::float16, DType::fp16},
                                    {NpyType::bits16, DType::bf16},
                                    {NpyType::float32, DType::fp32}}) {
    put_qkv(folder.path(), type);
    const LoadedShape shape = loaded_shape(folder.path(), "--load");
    EXPECT_EQ(shape.batch, 2);
    EXPECT_EQ(shape.nhead_q, 4);
    EXPECT_EQ(shape.nhead_k, 2);
    EXPECT_EQ(shape.seqlen_q, 3);
    EXPECT_EQ(shape.seqlen_k, 5);
    EXPECT_EQ(shape.hdim_q, 8);
    EXPECT_EQ(shape.hdim_v, 6);
    EXPECT_EQ(shape.dtype, dtype);
  }
}

TEST(LoadedShape, IsRefusedWhereAFileDoesNotFitTheOthers) {
  const TestFolder folder;
  const auto refusal = [&](const char* name, NpyType type, const std::vector<std::int64_t>& shape) {
    put_qkv(folder.path());
    put_zeros(folder.path() / "do.npy", NpyType::float16, {2, 4, 3, 6});
    loaded_shape(folder.path(), "--load");
    put_zeros(folder.path() / name, type, shape);
    return message_of([&] { loaded_shape(folder.path(), "--load"); });
  };
  EXPECT_THAT(refusal("k.npy", NpyType::float16, {1, 2, 5, 8}),
              HasSubstr("k.npy' has shape (1, 2, 5, 8); allowed beside q.npy is (2, 2, 5, 8)"));
  EXPECT_THAT(refusal("k.npy", NpyType::float16, {2, 2, 5, 7}),
              HasSubstr("allowed beside q.npy is (2, 2, 5, 8)"));
  EXPECT_THAT(refusal("v.npy", NpyType::float16, {2, 2, 4, 6}),
              HasSubstr("allowed beside k.npy is (2, 2, 5, 6)"));
  EXPECT_THAT(refusal("v.npy", NpyType::float16, {2, 1, 5, 6}),
              HasSubstr("allowed beside k.npy is (2, 2, 5, 6)"));
  EXPECT_THAT(refusal("do.npy", NpyType::float16, {2, 4, 3, 8}),
              HasSubstr("allowed beside q.npy and v.npy is (2, 4, 3, 6)"));
  EXPECT_THAT(refusal("q.npy", NpyType::float16, {4, 3, 8}),
              HasSubstr("q.npy' has shape (4, 3, 8); allowed is (batch, head, row, column)"));
  EXPECT_THAT(refusal("q.npy", NpyType::float16, {2, 4, 0, 8}), HasSubstr("none of them 0"));
}

TEST(LoadedShape, HasTheTypeOfQ) {
  const TestFolder folder;
  put_qkv(folder.path());
  put_zeros(folder.path() / "k.npy", NpyType::float32, {2, 2, 5, 8});
  EXPECT_EQ(loaded_shape(folder.path(), "--load").dtype, DType::fp16);
}

TEST(LoadedShape, NeedsQKAndVButNotDO) {
  const TestFolder folder;
  put_qkv(folder.path());
  loaded_shape(folder.path(), "--load");
  std::filesystem::remove(folder.path() / "v.npy");
  EXPECT_THAT(message_of([&] { loaded_shape(folder.path(), "--load"); }), HasSubstr("v.npy' cannot be read"));
}

TEST(LoadedBias, HasTheShapeOfItsFirstTwoDimensions) {
  const TestFolder folder;
  const Problem problem = small_problem();
  EXPECT_EQ(loaded_bias_shape(folder.path(), problem, "--load"), BiasShape::none);
  const auto loaded = [&](std::int64_t batch, std::int64_t head) {
    put_zeros(folder.path() / "bias.npy", NpyType::float32, {batch, head, 3, 5});
    return loaded_bias_shape(folder.path(), problem, "--load");
  };
  EXPECT_EQ(loaded(1, 1), BiasShape::shared);
  EXPECT_EQ(loaded(1, 4), BiasShape::head);
  EXPECT_EQ(loaded(2, 1), BiasShape::batch);
  EXPECT_EQ(loaded(2, 4), BiasShape::full);
  EXPECT_THAT(message_of([&] { loaded(3, 4); }),
              HasSubstr("allowed is (1 or 2, 1 or 4, seqlen_q, seqlen_k)"));
  EXPECT_THAT(message_of([&] { loaded(2, 2); }), HasSubstr("has shape (2, 2, 3, 5)"));
}

TEST(DropoutMask, IsTrueWherePIsKept) {
  const TestFolder folder;
  Problem problem = small_problem();
  problem.dropout = {0.5F, 7, 3};
  save_dropout_mask(folder.path(), problem, "--save");
  const auto path = folder.path() / "dropout_mask.npy";
  const NpyHeader header = read_npy_header(path, "--load");
  EXPECT_EQ(header.type, NpyType::boolean);
  EXPECT_THAT(header.shape, ElementsAre(2, 4, 3, 5));
  EXPECT_THAT(contents(path), HasSubstr("'descr': '|b1'"));
  const auto data = read_npy_data(path, header, "--load");
  const DropoutDraws draws = dropout_draws(problem);
  std::size_t at = 0;
  for (std::int64_t head = 0; head < 8; ++head) {
    for (std::int64_t query = 0; query < 3; ++query) {
      for (std::int64_t key = 0; key < 5; ++key) {
        ASSERT_EQ(data[at++], std::byte{draws.keeps(head, query, key)}) << head << " " << query << " " << key;
      }
    }
  }
}

TEST(DropoutMask, IsFalseBeyondASequencesLengths) {
  const TestFolder folder;
  Problem problem = small_problem();
  problem.nhead_q = problem.nhead_k = 1;
  make_grouped(problem, {1, 2}, {3, 1});
  save_dropout_mask(folder.path(), problem, "--save");
  const auto path = folder.path() / "dropout_mask.npy";
  const NpyHeader header = read_npy_header(path, "--load");
  EXPECT_THAT(header.shape, ElementsAre(2, 1, 2, 3));
  const auto data = read_npy_data(path, header, "--load");
  std::string picture;
  for (const std::byte kept : data) picture += kept == std::byte{1} ? 'x' : '.';
  EXPECT_EQ(picture,
            "xxx"
            "..."
            "x.."
            "x..");
}

TEST(Workspace, SaysThatAShapeComesFromTheCommandLineWhereNoFileSaysIt) {
  const TestFolder folder;
  put_zeros(folder.path() / "do.npy", NpyType::float32, {1, 1, 1, 1});
  const auto refusal = [&] {
    return message_of([&] { load_tensor(folder.path(), TensorId::d_o, small_problem(), "--load"); });
  };
  EXPECT_THAT(refusal(), HasSubstr("is (2, 4, 3, 6), by the command line and its defaults"));
  put_qkv(folder.path());
  EXPECT_THAT(refusal(), EndsWith("the problem's is (2, 4, 3, 6)"));
}

TEST(Workspace, RemovesWhatItWouldSaveAndNothingElse) {
  const TestFolder folder;
  std::filesystem::create_directories(folder.path() / "reference");
  for (const char* name : {"sink.npy", "dropout_mask.npy", "case.txt", "reference/dsink.npy", "sink.npy.part",
                           "notes.txt", "other.npy", "reference/dropout_mask.npy"}) {
    put(folder.path() / name, "x");
  }
  remove_saved(folder.path(), "--save");
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    if (entry.is_regular_file()) left.push_back(entry.path().filename());
  }
  EXPECT_THAT(left, UnorderedElementsAre("notes.txt", "other.npy", "dropout_mask.npy"));
}

}  // namespace
}  // namespace fmha_bwd
