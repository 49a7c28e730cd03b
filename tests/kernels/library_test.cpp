// The C interface: what it refuses, with which code and message. None of this asks for a device.
#include "kernels/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fmha_bwd {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

fmha_bwd_problem small_problem() {
  fmha_bwd_problem problem = {};
  problem.batch = 1;
  problem.nhead_q = problem.nhead_k = 2;
  problem.seqlen_q = problem.seqlen_k = problem.hdim_q = problem.hdim_v = 64;
  problem.dtype = FMHA_BWD_BF16;
  problem.mask = FMHA_BWD_TOP_LEFT;
  problem.scale = 0.125F;
  return problem;
}

struct Answer {
  int code = 0;
  std::string message;
};

Answer sizes(const fmha_bwd_problem& problem, const char* family = "simt") {
  fmha_bwd_workspace workspace = {};
  std::array<char, 256> message = {};
  const int code = fmha_bwd_sizes(&problem, family, &workspace, message.data(), message.size());
  return {code, message.data()};
}

TEST(Library, RefusesABadProblemAndNamesTheOption) {
  fmha_bwd_problem problem = small_problem();
  problem.hdim_q = 513;
  EXPECT_EQ(sizes(problem).code, 2);
  EXPECT_THAT(sizes(problem).message, HasSubstr("--hdim: 513"));

  problem = small_problem();
  problem.nhead_k = 3;
  EXPECT_EQ(sizes(problem).code, 2);
  EXPECT_THAT(sizes(problem).message, HasSubstr("--nhead-k: 3"));
}

TEST(Library, RefusesANumberThatIsNoEnumeratorAndNamesTheMember) {
  for (const int value : {-1, 3}) {
    fmha_bwd_problem problem = small_problem();
    problem.dtype = value;
    EXPECT_EQ(sizes(problem).code, 2);
    EXPECT_THAT(sizes(problem).message, HasSubstr("dtype: " + std::to_string(value)));

    problem = small_problem();
    problem.mask = value < 0 ? value : 5;
    EXPECT_EQ(sizes(problem).code, 2);
    EXPECT_THAT(sizes(problem).message, HasSubstr("mask: " + std::to_string(problem.mask)));

    problem = small_problem();
    problem.layout = value;
    EXPECT_EQ(sizes(problem).code, 2);
    EXPECT_THAT(sizes(problem).message, HasSubstr("layout: "));
  }
}

TEST(Library, RefusesFeaturesThatDoNotGoTogether) {
  struct Wrong {
    std::function<void(fmha_bwd_problem&)> change;
    const char* message;
  };
  const std::array<std::int64_t, 2> falling = {8, 8};
  const std::array<Wrong, 12> wrongs = {{
      {[](auto& p) { p.window_left = 3; }, "window_left: 3 is not in 0..0"},
      {[](auto& p) { p.window_right = -1; }, "window_right: -1 is not in 0..0"},
      {[](auto& p) { p.mask = FMHA_BWD_WINDOW_TOP_LEFT, p.window_left = FMHA_BWD_UNBOUNDED + 1; },
       "window_left: "},
      {[](auto& p) { p.mask = FMHA_BWD_WINDOW_TOP_LEFT, p.window_left = 3, p.prefix = 1; },
       "prefix: 1 is not in 0..0"},
      {[](auto& p) { p.documents = 1; }, "document_ends: null pointer"},
      {[&](auto& p) { p.documents = 2, p.document_ends = falling.data(); }, "document_ends: 8 is not in 9.."},
      {[&](auto& p) { p.seqlens_q = falling.data(); }, "seqlens_k: null pointer"},
      {[&](auto& p) { p.seqlens_q = p.seqlens_k = falling.data(), p.batch = 0; }, "batch: 0 is not in 1.."},
      {[](auto& p) { p.alibi = 2; }, "alibi: 2 is not in 0..1"},
      {[](auto& p) { p.sink = -1; }, "sink: -1 is not in 0..1"},
      {[](auto& p) { p.dropout = 1.0F; }, "--dropout: 1"},
      {[](auto& p) { p.softcap = -1.0F; }, "--softcap: -1"},
  }};
  for (const Wrong& wrong : wrongs) {
    fmha_bwd_problem problem = small_problem();
    wrong.change(problem);
    EXPECT_EQ(sizes(problem).code, 2) << wrong.message;
    EXPECT_THAT(sizes(problem).message, HasSubstr(wrong.message));
  }
}

struct Table {
  int code = 0;
  std::string message;
  std::vector<std::int64_t> numbers;
};

/// Of a problem whose table has `numbers` numbers of 64 bits.
Table table_of(const fmha_bwd_problem& problem, std::size_t numbers) {
  Table table;
  table.numbers.resize(numbers);
  std::array<char, 256> message = {};
  table.code = fmha_bwd_table(&problem, table.numbers.data(), numbers * sizeof(std::int64_t), message.data(),
                              message.size());
  table.message = message.data();
  return table;
}

TEST(Library, FillsTheTableWithSequencesAndDocumentEnds) {
  const std::array<std::int64_t, 2> seqlens_q = {5, 7};
  const std::array<std::int64_t, 2> seqlens_k = {6, 0};
  const std::array<std::int64_t, 3> ends = {1, 4, 6};
  fmha_bwd_problem problem = small_problem();
  EXPECT_EQ(table_of(problem, 0).code, 0);

  problem.documents = 3;
  problem.document_ends = ends.data();
  EXPECT_THAT(table_of(problem, 3).numbers, ElementsAre(1, 4, 6));

  problem.batch = 2;
  problem.seqlens_q = seqlens_q.data();
  problem.seqlens_k = seqlens_k.data();
  const Table both = table_of(problem, 17);
  EXPECT_EQ(both.code, 0) << both.message;
  // batch, two lengths, their first rows, their places; of each sequence.
  EXPECT_THAT(both.numbers, ElementsAre(0, 5, 6, 0, 0, 0, 0, 0, 7, 0, 5, 6, 5, 6, 1, 4, 6));
}

TEST(Library, RefusesATableOfAnotherSize) {
  const std::array<std::int64_t, 1> seqlens = {64};
  fmha_bwd_problem problem = small_problem();
  problem.seqlens_q = problem.seqlens_k = seqlens.data();
  EXPECT_EQ(table_of(problem, 6).code, 2);
  EXPECT_EQ(table_of(problem, 6).message, "table_bytes: 48 is not 56");
  EXPECT_EQ(fmha_bwd_table(&problem, nullptr, 56, nullptr, 0), 2);
}

TEST(Library, NeedsThePointersOfAFeature) {
  struct Feature {
    std::function<void(fmha_bwd_problem&)> change;
    const char* message;
  };
  const std::array<std::int64_t, 1> list = {64};
  const std::array<Feature, 4> features = {{
      {[](auto& p) { p.alibi = 1; }, "slopes: null pointer"},
      {[](auto& p) { p.sink = 1; }, "sink: null pointer"},
      {[&](auto& p) { p.seqlens_q = p.seqlens_k = list.data(); }, "table: null pointer"},
      {[&](auto& p) { p.documents = 1, p.document_ends = list.data(); }, "table: null pointer"},
  }};
  alignas(16) std::array<char, 16> memory = {};
  fmha_bwd_tensors tensors = {};
  tensors.q = tensors.k = tensors.v = tensors.o = memory.data();
  tensors.lse = reinterpret_cast<float*>(memory.data());
  for (const Feature& feature : features) {
    fmha_bwd_problem problem = small_problem();
    feature.change(problem);
    std::array<char, 256> message = {};
    EXPECT_EQ(fmha_bwd_forward(&problem, "simt", &tensors, nullptr, message.data(), message.size()), 2);
    EXPECT_STREQ(message.data(), feature.message);
  }
}

TEST(Library, RefusesAFamilyThatIsNotThere) {
  const Answer answer = sizes(small_problem(), "nonesuch");
  EXPECT_EQ(answer.code, 3);
  EXPECT_THAT(answer.message, HasSubstr("'nonesuch'"));
}

TEST(Library, RefusesNullArguments) {
  const fmha_bwd_problem problem = small_problem();
  std::array<char, 256> message = {};
  EXPECT_EQ(fmha_bwd_sizes(&problem, "simt", nullptr, message.data(), message.size()), 2);
  EXPECT_STREQ(message.data(), "workspace: null pointer");
  EXPECT_EQ(fmha_bwd_forward(nullptr, "simt", nullptr, nullptr, message.data(), message.size()), 2);
  EXPECT_EQ(fmha_bwd_backward(&problem, "simt", nullptr, nullptr, message.data(), message.size()), 2);
  EXPECT_STREQ(message.data(), "tensors: null pointer");
}

TEST(Library, RefusesAddressesThatTheKernelsCannotRead) {
  const fmha_bwd_problem problem = small_problem();
  std::array<char, 256> message = {};
  alignas(16) std::array<char, 32> memory = {};
  fmha_bwd_tensors tensors = {};
  tensors.q = tensors.k = tensors.o = memory.data();
  tensors.lse = reinterpret_cast<float*>(memory.data());
  EXPECT_EQ(fmha_bwd_forward(&problem, "simt", &tensors, nullptr, message.data(), message.size()), 2);
  EXPECT_STREQ(message.data(), "v: null pointer");
  tensors.v = memory.data() + 2;
  EXPECT_EQ(fmha_bwd_forward(&problem, "simt", &tensors, nullptr, message.data(), message.size()), 2);
  EXPECT_STREQ(message.data(), "v: the address is not a multiple of 16");
}

TEST(Library, CutsTheMessageToItsBuffer) {
  const fmha_bwd_problem problem = small_problem();
  std::array<char, 10> message = {};
  EXPECT_EQ(fmha_bwd_backward(&problem, "simt", nullptr, nullptr, message.data(), message.size()), 2);
  EXPECT_STREQ(message.data(), "tensors: ");
  EXPECT_EQ(fmha_bwd_backward(&problem, "simt", nullptr, nullptr, nullptr, 0), 2);
}

}  // namespace
}  // namespace fmha_bwd
