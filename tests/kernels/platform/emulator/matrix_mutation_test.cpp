// The emulator sees it when a kernel on matrix cores lacks a barrier or a wait for copies, whichever it is,
// and so does ThreadSanitizer.
#include <algorithm>
#include <iostream>

#include "base/error.h"
#include "tests/kernels/platform/emulator/emulator_test.h"
#include "tests/kernels/platform/emulator/matrix_mutant.h"
#include "tests/kernels/platform/emulator/mutation.h"

namespace fmha_bwd {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

/// What the emulator has against `kernel`; empty where it has nothing.
std::string objection_to(const MatrixKernel& kernel) {
  select_arch(kernel.arch);
  const std::vector<std::uint16_t> halves(256 * 256, 0x3000);  // 0.125
  const std::vector<float> floats(256 * 256, 0.125F);
  const DeviceArray<std::uint16_t> q(halves);
  const DeviceArray<std::uint16_t> k(halves);
  const DeviceArray<std::uint16_t> v(halves);
  const DeviceArray<std::uint16_t> d_o(halves);
  const DeviceArray<std::uint16_t> o(halves);
  const DeviceArray<std::uint16_t> dq(halves);
  const DeviceArray<std::uint16_t> dk(halves);
  const DeviceArray<std::uint16_t> dv(halves);
  const DeviceArray<float> lse(floats);
  const DeviceArray<float> d(floats);
  const DeviceArray<float> dq_acc(floats);
  const DeviceArray<float> norms(floats);
  emulator::DeviceTensors tensors;
  tensors.q = q.data();
  tensors.k = k.data();
  tensors.v = v.data();
  tensors.d_o = d_o.data();
  tensors.o = o.data();
  tensors.lse = lse.data();
  tensors.d = d.data();
  tensors.dq = dq.data();
  tensors.dk = dk.data();
  tensors.dv = dv.data();
  tensors.dq_acc = dq_acc.data();
  if (std::string_view(kernel.arch) == "gfx90a") tensors.scratch = norms.data();
  try {
    kernel.launch(kernel.problem, tensors);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::set<SourceLine> reached_by(const MatrixKernel& kernel) {
  return fmha_bwd::reached_by([&] { EXPECT_EQ(objection_to(kernel), "") << kernel.name; });
}

/// All but one, that between two tiles of keys, which RDNA alone needs. On CDNA keys are in registers: behind
/// its last barrier a tile reads only dS, which the next writes behind its first. In the family mma each
/// thread loads keys to where itself it read dK and dV last, and where warps have roles a tile ends with a
/// barrier.
std::set<SourceLine> needed_by(const MatrixKernel& kernel) {
  std::set<SourceLine> needed = reached_by(kernel);
  std::vector<const char*> files = {"/mma/role_dq_dk_dv.h"};
  if (!std::string_view(kernel.arch).starts_with("gfx1")) files.push_back("/matrix/dq_dk_dv.h");
  for (const char* file : files) {
    const std::vector<SourceLine> between_tiles =
        lines_with("if (tile >= a.slices) __syncthreads();", KERNELS_FOLDER, file);
    EXPECT_GE(between_tiles.size(), 1u) << file;
    for (const SourceLine& line : between_tiles) {
      std::erase_if(needed, [&](const SourceLine& one) { return line.is_at(one.file.c_str(), one.line); });
    }
  }
  return needed;
}

class MatrixMutation : public MemoryChecks {
 protected:
  void TearDown() override {
    left_out = {};
    MemoryChecks::TearDown();
  }
};

TEST_F(MatrixMutation, LeavesNothingToObjectToWhereNothingIsLeftOut) {
  for (const auto& seed : {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(7)}) {
    set_settings({.threads = 1, .schedule_seed = seed});
    for (const MatrixKernel& kernel : matrix_kernels()) EXPECT_EQ(objection_to(kernel), "") << kernel.name;
  }
}

TEST_F(MatrixMutation, ReachesEveryBarrierAndWaitOfTheSources) {
  std::set<SourceLine> reached;
  for (const MatrixKernel& kernel : matrix_kernels()) reached.merge(reached_by(kernel));
  std::vector<SourceLine> all = lines_with("copy_async_wait", KERNELS_FOLDER, "/mma/unit.h");
  ASSERT_EQ(all.size(), 1u);
  for (const auto& [file, least] : {std::pair{"/matrix/forward.h", 2},
                                    {"/matrix/dq_dk_dv.h", 5},
                                    {"/matrix/convert_dq.h", 1},
                                    {"/mma/role_dq_dk_dv.h", 3}}) {
    const std::vector<SourceLine> barriers = lines_with("__syncthreads();", KERNELS_FOLDER, file);
    ASSERT_GE(barriers.size(), static_cast<std::size_t>(least)) << file;
    all.insert(all.end(), barriers.begin(), barriers.end());
  }
  EXPECT_EQ(reached.size(), all.size());
  for (const SourceLine& one : all) {
    EXPECT_TRUE(std::any_of(reached.begin(), reached.end(),
                            [&](const SourceLine& line) { return one.is_at(line.file.c_str(), line.line); }))
        << one.file << ":" << one.line;
  }
}

TEST_F(MatrixMutation, IsSeenWhateverIsLeftOut) {
  for (const MatrixKernel& kernel : matrix_kernels()) {
    for (const SourceLine& line : needed_by(kernel)) {
      for (const auto& seed : {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(7)}) {
        set_settings({.threads = 1, .schedule_seed = seed});
        left_out = line;
        EXPECT_THAT(objection_to(kernel), AnyOf(HasSubstr("race: "), HasSubstr("nothing was written there")))
            << kernel.name << " without " << line.file << ":" << line.line
            << (seed ? ", in random order" : ", in order");
      }
    }
    left_out = {};
  }
}

class MatrixMutationDeathTest : public testing::TestWithParam<MatrixKernel> {};

TEST_P(MatrixMutationDeathTest, IsARaceForThreadSanitizerWhateverIsLeftOut) {
  if (!kThreadSanitizer) GTEST_SKIP() << "not a build with ThreadSanitizer";
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const MatrixKernel& kernel = GetParam();
  for (const SourceLine& line : needed_by(kernel)) {
    // Copies that nobody waits for never happen, and race with nothing: the emulator itself says so.
    const bool is_wait = line.file.ends_with("/mma/unit.h");
    const auto run = [&] {
      left_out = line;
      const std::string objection = objection_to(kernel);
      std::cerr << objection << '\n';
      std::exit(objection.empty() ? 0 : 1);
    };
    EXPECT_EXIT(run(), testing::ExitedWithCode(is_wait ? 1 : 66),
                is_wait ? "ended with [0-9]+ copies under way" : "data race")
        << kernel.name << " without " << line.file << ":" << line.line;
  }
}

std::string test_name(const testing::TestParamInfo<MatrixKernel>& info) {
  std::string name = info.param.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ' ' || c == ','; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Kernel, MatrixMutationDeathTest, testing::ValuesIn(matrix_kernels()), test_name);

}  // namespace
}  // namespace fmha_bwd
