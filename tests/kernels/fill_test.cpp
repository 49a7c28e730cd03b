// The inputs have the same bits on every device and on the CPU.
#include <gtest/gtest.h>

#include "kernels/backend.h"
#include "reference/inputs.h"
#include "tests/kernels/devices.h"

namespace fmha_bwd {
namespace {

class InputFill : public testing::TestWithParam<Device> {};

Problem small_problem(DType dtype) {
  Problem problem;
  problem.batch = 2;
  problem.nhead_q = 3;
  problem.nhead_k = 1;
  problem.seqlen_q = 37;
  problem.seqlen_k = 53;
  problem.hdim_q = 21;  // no tensor's size is a multiple of the four elements of a counter
  problem.hdim_v = 19;
  problem.dtype = dtype;
  return problem;
}

TEST_P(InputFill, DrawsTheBitsThatTheCpuDraws) {
  const auto backend = open_backend(GetParam().platform, GetParam().index);
  for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32}) {
    for (const Layout layout : {Layout::bhsd, Layout::bshd}) {
      Problem problem = small_problem(dtype);
      problem.layout = layout;
      const Fill fill = {.seed = 0x123456789abcdef0u, .standard_deviation = 1.5F};
      const auto session = backend->open(problem, "simt");
      session->fill_inputs(fill);
      for (const TensorId id : inputs_of(problem)) {
        EXPECT_EQ(session->download(id).bytes, draw_input(id, problem, fill).bytes)
            << name_of(id) << " in " << name_of(dtype) << ", " << name_of(layout);
      }
    }
  }
}

TEST_P(InputFill, DrawsEveryKindAndEveryInputAsTheCpuDoes) {
  const auto backend = open_backend(GetParam().platform, GetParam().index);
  for (const FillKind kind :
       {FillKind::normal, FillKind::uniform, FillKind::integers, FillKind::zeros, FillKind::extreme}) {
    Problem problem = small_problem(DType::fp16);
    problem.bias = BiasShape::head;
    problem.sink = true;
    const Fill fill = {.seed = 11, .standard_deviation = 1.0F, .kind = kind, .d_o_is_one = true};
    const auto session = backend->open(problem, "simt");
    session->fill_inputs(fill);
    for (const TensorId id : inputs_of(problem)) {
      EXPECT_EQ(session->download(id).bytes, draw_input(id, problem, fill).bytes)
          << name_of(id) << " " << name_of(kind);
    }
  }
}

TEST_P(InputFill, DrawsTheSameInGroupModeWithPaddingAndInPackedTensors) {
  const auto backend = open_backend(GetParam().platform, GetParam().index);
  for (const Layout layout : {Layout::bhsd, Layout::bshd, Layout::qkv}) {
    Problem problem = small_problem(DType::bf16);
    problem.hdim_v = problem.hdim_q;
    make_grouped(problem, {0, 5, 0, 0, 9, 1, 0}, {0, 5, 0, 0, 9, 1, 0});
    problem.padded_q = problem.padded_k = {2, 5, 0, 1, 12, 1, 3};
    problem.layout = layout;
    const auto session = backend->open(problem, "simt");
    session->fill_inputs(Fill{});
    for (const TensorId id : inputs_of(problem)) {
      EXPECT_EQ(session->download(id).bytes, draw_input(id, problem, Fill{}).bytes)
          << name_of(id) << " " << name_of(layout);
    }
    EXPECT_TRUE(session->damaged_guards().empty()) << name_of(layout);
  }
}

// Pinned, so that a change of the drawing on all platforms at once is seen too.
TEST_P(InputFill, HasTheChecksumsOfTheDefaultProblem) {
  const auto backend = open_backend(GetParam().platform, GetParam().index);
  const std::array<std::pair<DType, std::uint64_t>, 3> expected = {{{DType::fp16, 0x2ba3daf8cc171518u},
                                                                    {DType::bf16, 0xa999da87e315cb91u},
                                                                    {DType::fp32, 0xf56484e741be9af6u}}};
  for (const auto& [dtype, checksum] : expected) {
    Problem problem;
    problem.dtype = dtype;
    const auto session = backend->open(problem, "simt");
    session->fill_inputs(Fill{});
    Checksum actual;
    for (const TensorId id : inputs_of(problem)) actual.add(session->download(id));
    EXPECT_EQ(actual.value(), checksum) << name_of(dtype) << std::hex << " 0x" << actual.value();
  }
}

TEST_P(InputFill, GivesEveryTensorAStreamOfItsOwn) {
  const auto backend = open_backend(GetParam().platform, GetParam().index);
  Problem problem;
  problem.nhead_q = problem.nhead_k = 1;
  const auto session = backend->open(problem, "simt");
  session->fill_inputs(Fill{});
  EXPECT_NE(session->download(TensorId::q).bytes, session->download(TensorId::k).bytes);
  EXPECT_NE(session->download(TensorId::k).bytes, session->download(TensorId::v).bytes);
  EXPECT_NE(session->download(TensorId::v).bytes, session->download(TensorId::d_o).bytes);
}

INSTANTIATE_TEST_SUITE_P(Device, InputFill, testing::ValuesIn(devices_to_test()), test_name);

}  // namespace
}  // namespace fmha_bwd
