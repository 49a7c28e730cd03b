// What compilers make calls of is checked as any other access.
#include "tests/kernels/platform/emulator/string_functions_kernels.h"

#include "tests/kernels/platform/emulator/emulator_test.h"

namespace fmha_bwd {
namespace {

using test_kernels::Row;
using testing::Each;
using testing::HasSubstr;

class StringFunctions : public MemoryChecks {
 protected:
  static void clear_and_copy(std::size_t shared_bytes, const int* from, int* sums) {
    hipLaunchKernelGGL(test_kernels::clear_and_copy_by_one_lane, dim3(1), dim3(32), shared_bytes, nullptr,
                       from, 100, sums);
  }
};

TEST_F(StringFunctions, CopyStructsFromAndToWhereTheyAre) {
  const DeviceArray<Row> from(std::vector<Row>(10, Row{{1, 2, 3, 4, 5, 6, 7, 8}}));
  const DeviceArray<Row> to(10);
  hipLaunchKernelGGL(test_kernels::copy_rows, dim3(1), dim3(10), 10 * sizeof(Row), nullptr, from.data(),
                     to.data());
  ASSERT_EQ(objection(), "");
  EXPECT_EQ(to.values()[9].elements[7], 8.0F);
  hipLaunchKernelGGL(test_kernels::copy_rows, dim3(1), dim3(10), 10 * sizeof(Row) - 4, nullptr, from.data(),
                     to.data());
  EXPECT_THAT(report_of_fault(), HasSubstr("lane 9: out of bounds: write of "));
}

TEST_F(StringFunctions, DoNotCopyWhatNothingWrote) {
  const DeviceArray<Row> from(10);
  const DeviceArray<Row> to(10);
  hipLaunchKernelGGL(test_kernels::copy_rows, dim3(1), dim3(10), 10 * sizeof(Row), nullptr, from.data(),
                     to.data());
  EXPECT_THAT(report_of_fault(), HasSubstr("lane 0: nothing was written there: read of "));
}

TEST_F(StringFunctions, WriteWhatLoopsWrite) {
  const DeviceArray<int> from(std::vector<int>(100, 1));
  const DeviceArray<int> sums(32);
  clear_and_copy(800, from.data(), sums.data());
  ASSERT_EQ(objection(), "");
  EXPECT_THAT(sums.values(), Each(100));
  clear_and_copy(300, from.data(), sums.data());  // it ends within the zeroes
  EXPECT_THAT(report_of_fault(), HasSubstr("lane 0: out of bounds: write of "));
  clear_and_copy(700, from.data(), sums.data());  // within the copy
  EXPECT_THAT(report_of_fault(), HasSubstr("lane 0: out of bounds: write of "));
}

TEST_F(StringFunctions, ReadWhatLoopsRead) {
  const DeviceArray<int> from(std::vector<int>(99, 1));
  const DeviceArray<int> sums(32);
  clear_and_copy(800, from.data(), sums.data());
  EXPECT_THAT(report_of_fault(), HasSubstr("lane 0: out of bounds: read of "));
}

}  // namespace
}  // namespace fmha_bwd
