// ldmatrix, and how matrix instructions order memory accesses.
#include "tests/kernels/platform/emulator/emulator_test.h"
#include "tests/kernels/platform/emulator/matrix_core_kernels.h"

namespace fmha_bwd {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// ldmatrix. Element j of row i of matrix m is 100 m + 10 i + j.
class MatrixLoads : public Emulator {
 protected:
  void SetUp() override {
    Emulator::SetUp();
    select_arch("sm_80");
  }
  static std::uint32_t pair(int low, int high) { return static_cast<std::uint32_t>(low | high << 16); }
  static std::vector<std::uint32_t> loaded(bool transposed) {
    const DeviceArray<std::uint32_t> out(32 * 4);
    load(transposed, 0, out);
    EXPECT_EQ(objection(), "");
    return out.values();
  }
  static void load(bool transposed, int skew, const DeviceArray<std::uint32_t>& out) {
    std::vector<std::uint32_t> rows;
    for (int m = 0; m < 4; ++m) {
      for (int i = 0; i < 8; ++i) {
        for (int j = 0; j < 8; j += 2) rows.push_back(pair(100 * m + 10 * i + j, 100 * m + 10 * i + j + 1));
      }
    }
    const DeviceArray<std::uint32_t> in(rows);
    hipLaunchKernelGGL(test_kernels::load_matrices, dim3(1), dim3(32), 32 * 16, nullptr, in.data(),
                       transposed, skew, out.data());
  }
};

TEST_F(MatrixLoads, GiveNeighboursInARow) {
  const std::vector<std::uint32_t> words = loaded(false);
  for (int lane = 0; lane < 32; ++lane) {
    for (int m = 0; m < 4; ++m) {
      const int first = 100 * m + 10 * (lane / 4) + 2 * (lane % 4);
      EXPECT_EQ(words[static_cast<std::size_t>(4 * lane + m)], pair(first, first + 1)) << lane << " " << m;
    }
  }
}

TEST_F(MatrixLoads, GiveNeighboursInAColumnOfWhatIsTransposed) {
  const std::vector<std::uint32_t> words = loaded(true);
  for (int lane = 0; lane < 32; ++lane) {
    for (int m = 0; m < 4; ++m) {
      const int first = 100 * m + lane / 4 + 10 * (2 * (lane % 4));
      EXPECT_EQ(words[static_cast<std::size_t>(4 * lane + m)], pair(first, first + 10)) << lane << " " << m;
    }
  }
}

TEST_F(MatrixLoads, NeedAlignedAddressesOfSharedMemory) {
  const DeviceArray<std::uint32_t> out(32 * 4);
  for (const bool transposed : {false, true}) {
    load(transposed, 8, out);
    EXPECT_THAT(report_of_fault(), AllOf(HasSubstr(transposed ? "ldmatrix_x4_trans at " : "ldmatrix_x4 at "),
                                         HasSubstr("matrix_core_kernels.hip:"),
                                         HasSubstr("an address that is 8 bytes over a multiple of 16")));
  }
  hipLaunchKernelGGL(test_kernels::load_matrices_from, dim3(1), dim3(32), 16, nullptr, out.data(),
                     out.data());
  EXPECT_THAT(report_of_fault(), HasSubstr("an address that is not of shared memory"));
}

TEST_F(MatrixLoads, AreNvidiasAlone) {
  select_arch("gfx1100");
  load(false, 0, DeviceArray<std::uint32_t>(32 * 4));
  EXPECT_THAT(report_of_fault(), HasSubstr("ldmatrix_x4: gfx1100 has no such instruction"));
}

TEST_F(MatrixLoads, NeedAllLanesAtOneCall) {
  hipLaunchKernelGGL(test_kernels::load_matrices_at_two_sites, dim3(1), dim3(32), 32 * 16, nullptr, 8);
  EXPECT_THAT(report_of_fault(),
              AllOf(HasSubstr("divergent wave function"), HasSubstr("lanes 0-7 wait in ldmatrix_x4"),
                    HasSubstr("lanes 8-31 wait in ldmatrix_x4")));
}

using MatrixMemoryChecks = MemoryChecks;

TEST_F(MatrixMemoryChecks, SeeWhatLdmatrixReads) {
  select_arch("sm_80");
  const DeviceArray<std::uint32_t> out(32 * 4);
  hipLaunchKernelGGL(test_kernels::load_matrices_from, dim3(1), dim3(32), 16, nullptr, nullptr, out.data());
  EXPECT_THAT(report_of_fault(), AllOf(HasSubstr("nothing was written there: read of 16 bytes at offset 0"),
                                       HasSubstr("matrix_core_kernels.hip:")));
  hipLaunchKernelGGL(test_kernels::load_matrices_from, dim3(1), dim3(32), 8, nullptr, nullptr, out.data());
  EXPECT_THAT(report_of_fault(), HasSubstr("out of bounds: read of 16 bytes at offset 0"));
}

TEST_F(MatrixMemoryChecks, AreNotOrderedByAMultiplication) {
  select_arch("sm_80");
  const DeviceArray<int> out(32);
  hipLaunchKernelGGL(test_kernels::neighbour_after_matrices, dim3(1), dim3(32), 32 * 20, nullptr, false,
                     out.data());
  EXPECT_THAT(report_of_fault(), HasSubstr("race: "));
  hipLaunchKernelGGL(test_kernels::neighbour_after_matrices, dim3(1), dim3(32), 32 * 20, nullptr, true,
                     out.data());
  EXPECT_EQ(objection(), "");
}

TEST(MatrixMemoryDeathTest, IsOrderedForThreadSanitizerAsForTheEmulator) {
  if (!kThreadSanitizer) GTEST_SKIP() << "not a build with ThreadSanitizer";
  const auto run = [](bool load) {
    select_arch("sm_80");
    const DeviceArray<int> out(32);
    hipLaunchKernelGGL(test_kernels::neighbour_after_matrices, dim3(1), dim3(32), 32 * 20, nullptr, load,
                       out.data());
    std::exit(objection().empty() ? 0 : 1);
  };
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(run(false), testing::ExitedWithCode(66), "data race");
  EXPECT_EXIT(run(true), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace fmha_bwd
