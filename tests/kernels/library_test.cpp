// The C interface: what it refuses, with which code and message. None of this asks for a device.
#include "kernels/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

namespace fmha_bwd {
namespace {

using testing::HasSubstr;

fmha_bwd_problem small_problem() {
  return {1, 2, 2, 64, 64, 64, 64, FMHA_BWD_BF16, FMHA_BWD_TOP_LEFT, 0, 0.125F};
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
    problem.mask = value;
    EXPECT_EQ(sizes(problem).code, 2);
    EXPECT_THAT(sizes(problem).message, HasSubstr("mask: " + std::to_string(value)));

    problem = small_problem();
    problem.layout = value;
    EXPECT_EQ(sizes(problem).code, 2);
    EXPECT_THAT(sizes(problem).message, HasSubstr("layout: "));
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
