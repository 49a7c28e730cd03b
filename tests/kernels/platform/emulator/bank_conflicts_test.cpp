// Conflicts of shared memory's banks: the counts are computed by hand.
#include "kernels/platform/emulator/bank_conflicts.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/platform/emulator/shared_access_counts.h"
#include "tests/kernels/platform/emulator/bank_conflicts_kernels.h"
#include "tests/kernels/platform/emulator/emulator_test.h"

namespace hip_emulator {

inline void PrintTo(const BankCounts& counts, std::ostream* out) {
  *out << "{" << counts.accesses << ", " << counts.phases << ", " << counts.conflicts << "}";
}

}  // namespace hip_emulator

namespace fmha_bwd {
namespace {

using hip_emulator::BankCounts;
using hip_emulator::count_shared_accesses;
using hip_emulator::take_shared_accesses;
using test_kernels::Wide;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

using Offsets = std::function<int(int)>;  // of a thread, in bytes

constexpr int kShared = 32 * 1024;

/// Counts in one launch. Arrays have an element for each of a workgroup's threads.
class BankConflicts : public MemoryChecks {
 protected:
  void SetUp() override {
    MemoryChecks::SetUp();
    if (!IsSkipped()) count_shared_accesses(true);
  }
  void TearDown() override {
    count_shared_accesses(false);
    static_cast<void>(take_shared_accesses());
    if (!IsSkipped()) MemoryChecks::TearDown();
  }

  DeviceArray<int> values(const Offsets& of) const {
    std::vector<int> result;
    for (int i = 0; i < lanes_; ++i) result.push_back(of(i));
    return DeviceArray<int>(result);
  }
  /// A workgroup of `lanes` threads.
  void on(const char* arch, int lanes) {
    select_arch(arch);
    lanes_ = lanes;
  }

  template <class T>
  BankCounts read(const Offsets& offsets) const {
    const DeviceArray<int> at = values(offsets);
    const DeviceArray<T> out(static_cast<std::size_t>(lanes_));
    hipLaunchKernelGGL(test_kernels::read_at<T>, dim3(1), block(), kShared, nullptr, at.data(), kShared,
                       out.data());
    return taken("read", sizeof(T));
  }
  template <class T>
  BankCounts written(const Offsets& offsets) const {
    const DeviceArray<int> at = values(offsets);
    hipLaunchKernelGGL(test_kernels::write_at<T>, dim3(1), block(), kShared, nullptr, at.data());
    return taken("write", sizeof(T));
  }
  BankCounts copied(const Offsets& offsets, int bytes) const {
    const DeviceArray<int> at = values(offsets);
    const DeviceArray<std::uint8_t> out(static_cast<std::size_t>(lanes_ * bytes));
    hipLaunchKernelGGL(test_kernels::copy_at, dim3(1), block(), kShared, nullptr, at.data(), kShared, bytes,
                       out.data());
    return taken("read", static_cast<std::size_t>(bytes));
  }
  using Around = void (*)(const int*, int, int*);
  BankCounts read_around(Around kernel, const Offsets& offsets) const {
    const DeviceArray<int> at = values(offsets);
    const DeviceArray<int> out(static_cast<std::size_t>(lanes_));
    hipLaunchKernelGGL(kernel, dim3(1), block(), kShared, nullptr, at.data(), kShared, out.data());
    return taken("read", 4);
  }

  dim3 block() const { return dim3(static_cast<unsigned>(lanes_)); }

  /// What was counted of a kind and width; empties the table.
  static BankCounts taken(const char* kind, std::size_t bytes) {
    EXPECT_EQ(objection(), "");
    BankCounts sum;
    for (const SharedAccessSite& site : take_shared_accesses()) {
      if (site.kind != kind || site.bytes != static_cast<std::int64_t>(bytes)) continue;
      sum += {static_cast<std::uint64_t>(site.accesses), static_cast<std::uint64_t>(site.phases),
              static_cast<std::uint64_t>(site.conflicts)};
    }
    return sum;
  }

 private:
  int lanes_ = 0;
};

Offsets rows(int bytes) {
  return [bytes](int lane) { return lane * bytes; };
}

TEST_F(BankConflicts, OfWordsAreThoseOfTheirStrideOn32Banks) {
  for (const char* arch : {"sm_80", "sm_90a", "gfx1100", "gfx1201"}) {
    SCOPED_TRACE(arch);
    on(arch, 32);
    EXPECT_EQ(read<unsigned>(rows(4)), (BankCounts{1, 1, 0}));
    EXPECT_EQ(read<unsigned>(rows(2 * 4)), (BankCounts{1, 1, 1}));    // banks 0, 2, .. 30, twice
    EXPECT_EQ(read<unsigned>(rows(33 * 4)), (BankCounts{1, 1, 0}));   // every bank once
    EXPECT_EQ(read<unsigned>(rows(32 * 4)), (BankCounts{1, 1, 31}));  // all of bank 0
    EXPECT_EQ(written<unsigned>(rows(32 * 4)), (BankCounts{1, 1, 31}));
  }
  on("gfx942", 64);  // twice as many lanes, in two phases
  EXPECT_EQ(read<unsigned>(rows(4)), (BankCounts{1, 2, 0}));
  EXPECT_EQ(read<unsigned>(rows(2 * 4)), (BankCounts{1, 2, 2}));
  EXPECT_EQ(read<unsigned>(rows(32 * 4)), (BankCounts{1, 2, 62}));
}

TEST_F(BankConflicts, AreNoneOfAWordThatLanesShare) {
  on("sm_80", 32);
  EXPECT_EQ(read<unsigned>([](int) { return 64; }), (BankCounts{1, 1, 0}));
  EXPECT_EQ(read<unsigned>([](int lane) { return lane / 2 * 4; }), (BankCounts{1, 1, 0}));
  EXPECT_EQ(read<unsigned>([](int lane) { return lane % 2 * 128; }), (BankCounts{1, 1, 1}));  // two words
  EXPECT_EQ(read<std::uint8_t>(rows(1)), (BankCounts{1, 1, 0}));        // four bytes of each of 8 words
  EXPECT_EQ(read<std::uint8_t>(rows(128 + 1)), (BankCounts{1, 1, 3}));  // words of banks 0 to 7, four each
}

TEST_F(BankConflicts, OfWideAccessesAreThoseOfSomeLanesAtATime) {
  on("sm_80", 32);
  EXPECT_EQ(read<std::uint64_t>(rows(8)), (BankCounts{1, 2, 0}));
  EXPECT_EQ(read<std::uint64_t>(rows(16)), (BankCounts{1, 2, 2}));  // lanes 0 and 8 meet
  EXPECT_EQ(read<Wide>(rows(16)), (BankCounts{1, 4, 0}));
  EXPECT_EQ(read<Wide>(rows(32)), (BankCounts{1, 4, 4}));       // lanes 0 and 4
  EXPECT_EQ(written<Wide>(rows(128)), (BankCounts{1, 4, 28}));  // all eight of a phase
  on("gfx942", 64);
  EXPECT_EQ(read<std::uint64_t>(rows(8)), (BankCounts{1, 4, 0}));
  EXPECT_EQ(read<Wide>(rows(16)), (BankCounts{1, 8, 0}));
}

// 128 bytes for each of gfx942's eights, {0-3,20-23} and so on, 16 for each lane of them.
int by_eights_of_gfx942(int lane) {
  constexpr int kEight[8] = {0, 1, 2, 3, 1, 0, 3, 2};  // of each four lanes
  const int four = lane % 32 / 4;
  return lane / 32 * 512 + kEight[four] * 128 + (four < 4 ? 0 : 64) + lane % 4 * 16;
}
// Lanes 16-19 and 20-23 change places, and 24-27 and 28-31.
int by_swapped_fours(int lane) { return (lane % 32 < 16 ? lane : lane ^ 4) * 16; }

TEST_F(BankConflicts, OfSixteenByteReadsFollowTheGroupsOfCdna3) {
  for (const char* arch : {"gfx942", "gfx90a"}) {
    SCOPED_TRACE(arch);
    on(arch, 64);
    EXPECT_EQ(read<Wide>(by_eights_of_gfx942), (BankCounts{1, 8, 0}));
    EXPECT_EQ(read<Wide>(by_swapped_fours), (BankCounts{1, 8, 8}));
    EXPECT_EQ(written<Wide>(by_eights_of_gfx942), (BankCounts{1, 8, 8}));  // consecutive eights
    EXPECT_EQ(written<Wide>(by_swapped_fours), (BankCounts{1, 8, 0}));
  }
  on("gfx1100", 32);
  EXPECT_EQ(read<Wide>(by_eights_of_gfx942), (BankCounts{1, 4, 4}));
  EXPECT_EQ(read<Wide>(by_swapped_fours), (BankCounts{1, 4, 0}));
}

TEST_F(BankConflicts, OfReadsAreThoseOf64BanksOnCdna4) {
  on("gfx950", 64);
  EXPECT_EQ(read<unsigned>(rows(2 * 4)), (BankCounts{1, 2, 0}));
  EXPECT_EQ(read<unsigned>(rows(4 * 4)), (BankCounts{1, 2, 2}));
  EXPECT_EQ(read<unsigned>(rows(64 * 4)), (BankCounts{1, 2, 62}));
  EXPECT_EQ(written<unsigned>(rows(2 * 4)), (BankCounts{1, 2, 2}));  // 32 banks
  EXPECT_EQ(read<std::uint64_t>(rows(8)), (BankCounts{1, 2, 0}));
  EXPECT_EQ(read<std::uint64_t>(rows(16)), (BankCounts{1, 2, 2}));
  EXPECT_EQ(read<Wide>(rows(16)), (BankCounts{1, 4, 0}));
  EXPECT_EQ(written<Wide>(rows(16)), (BankCounts{1, 8, 0}));
  // Each four of the sixteen {0-3,12-15,20-27} finds another there: 0-3 and 24-27, 12-15 and 20-23.
  const auto halves = [](int lane) {
    const int four = lane % 32 / 4;
    const bool first = four == 0 || four == 3 || four == 5 || four == 6;
    return (lane % 8) * 16 + (first ? 0 : 128) + lane / 8 * 256;
  };
  EXPECT_EQ(read<Wide>(halves), (BankCounts{1, 4, 4}));
}

TEST_F(BankConflicts, LeaveOutLanesThatDoNotTakePart) {
  on("sm_80", 32);
  EXPECT_EQ(read<unsigned>([](int lane) { return lane < 2 ? lane * 128 : -1; }), (BankCounts{1, 1, 1}));
  EXPECT_EQ(read<Wide>([](int lane) { return lane == 9 ? 0 : -1; }), (BankCounts{1, 1, 0}));
  EXPECT_EQ(read<Wide>([](int) { return -1; }), BankCounts{});
  on("sm_80", 5);
  EXPECT_EQ(read<unsigned>(rows(128)), (BankCounts{1, 1, 4}));
}

TEST_F(BankConflicts, AreCountedForEachWaveAndWorkgroup) {
  on("sm_80", 40);  // a whole wave and a part of one
  EXPECT_EQ(read<unsigned>(rows(128)), (BankCounts{2, 2, 31 + 7}));
  const DeviceArray<int> offsets = values(rows(8));
  for (int launch = 0; launch < 2; ++launch) {
    hipLaunchKernelGGL(test_kernels::write_at<unsigned>, dim3(7), block(), kShared, nullptr, offsets.data());
  }
  EXPECT_EQ(taken("write", 4), (BankCounts{2 * 7 * 2, 2 * 7 * 2, 2 * 7}));
}

TEST_F(BankConflicts, TakeTheAccessesOfALoopInTheirOrder) {
  on("sm_80", 32);
  const DeviceArray<int> offsets = values(rows(128));
  const DeviceArray<int> times = values([](int lane) { return lane == 3 ? 5 : (lane < 8 ? 2 : 1); });
  const DeviceArray<int> out(32);
  hipLaunchKernelGGL(test_kernels::read_in_a_loop, dim3(1), block(), kShared, nullptr, offsets.data(),
                     times.data(), kShared, out.data());
  // All lanes, then eight, then three times lane 3.
  EXPECT_EQ(taken("read", 4), (BankCounts{5, 5, 31 + 7}));
}

TEST_F(BankConflicts, OfAccessesBetweenWhichLanesMeetAreApart) {
  on("sm_80", 32);
  for (const Around kernel : {test_kernels::read_around_a_barrier, test_kernels::read_around_a_shuffle}) {
    EXPECT_EQ(read_around(kernel, rows(4)), (BankCounts{2, 2, 0}));
    EXPECT_EQ(read_around(kernel, rows(128)), (BankCounts{2, 2, 15 + 15}));
  }
}

TEST_F(BankConflicts, OfLongCopiesAreThoseOfSixteenBytesAtATime) {
  on("sm_80", 32);
  EXPECT_EQ(copied(rows(32), 32), (BankCounts{2, 8, 8}));
  EXPECT_EQ(copied(rows(12), 12), (BankCounts{1, 4, 0}));  // 24 consecutive words a phase
  EXPECT_EQ(copied(rows(20), 20), (BankCounts{2, 8, 4}));  // words 5i to 5i + 3: 3 and 35 meet; then 5i + 4
  EXPECT_EQ(copied(rows(4), 0), BankCounts{});
}

TEST_F(BankConflicts, OfAtomicOperationsCountLikeReads) {
  on("sm_80", 32);
  for (const int stride : {0, 4, 128}) {
    const DeviceArray<int> offsets = values(rows(stride));
    hipLaunchKernelGGL(test_kernels::add_at, dim3(1), block(), kShared, nullptr, offsets.data(), kShared);
    EXPECT_EQ(taken("atomic", 4).conflicts, stride == 128 ? 31U : 0U);
  }
}

#if !defined(__clang__)  // which takes such a structure apart
TEST_F(BankConflicts, OfAVectorTypeAreThoseOfOneAccess) {
  on("sm_80", 32);
  EXPECT_EQ(read<float4>(rows(16)), (BankCounts{1, 4, 0}));
}
#endif

TEST_F(BankConflicts, AreNotCountedUntilAskedForNorAfterwards) {
  on("sm_80", 32);
  count_shared_accesses(false);
  EXPECT_EQ(read<unsigned>(rows(128)), BankCounts{});
  EXPECT_THAT(take_shared_accesses(), IsEmpty());
  count_shared_accesses(true);
  EXPECT_EQ(read<unsigned>(rows(128)), (BankCounts{1, 1, 31}));
  EXPECT_THAT(take_shared_accesses(), IsEmpty());  // it was taken
}

TEST_F(BankConflicts, OfAWorkgroupThatFailsAreLeftOut) {
  on("sm_80", 32);
  hip_emulator::set_settings({1, std::nullopt});  // in order: nothing after the second is begun
  hipLaunchKernelGGL(test_kernels::write_well_but_in_one, dim3(3), block(), kShared, nullptr);
  EXPECT_THAT(report_of_fault(), HasSubstr("out of bounds"));
  EXPECT_EQ(taken("write", 4), (BankCounts{1, 1, 0}));
  EXPECT_EQ(written<unsigned>(rows(8)), (BankCounts{1, 1, 1}));  // nothing is left of it
}

TEST_F(BankConflicts, AreToldByKernelAndLine) {
  if (std::system("addr2line --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no addr2line";
  on("sm_80", 32);
  const DeviceArray<int> offsets = values(rows(8));
  const DeviceArray<std::uint64_t> out(32);
  hipLaunchKernelGGL(test_kernels::read_at<std::uint64_t>, dim3(1), block(), 256, nullptr, offsets.data(),
                     256, out.data());
  hipLaunchKernelGGL(test_kernels::write_at<unsigned>, dim3(1), block(), 256, nullptr, offsets.data());
  const std::vector<SharedAccessSite> sites = take_shared_accesses();
  ASSERT_EQ(sites.size(), 3U);
  const std::string file = "tests/kernels/platform/emulator/bank_conflicts_kernels.hip:";
  const std::string kernel = "fmha_bwd::test_kernels::read_at<unsigned long>";
  EXPECT_EQ(sites[0].kernel, kernel);
  EXPECT_EQ(sites[0].function, "fmha_bwd::test_kernels::fill");
  EXPECT_EQ(sites[0].kind, "write");
  EXPECT_EQ(sites[0].bytes, 1);
  EXPECT_EQ(sites[0].accesses, 8);  // 256 bytes by 32 lanes
  EXPECT_EQ(sites[1], (SharedAccessSite{kernel, kernel, file + std::to_string(test_kernels::kLineOfReadAt),
                                        "read", 8, 1, 2, 0}));
  EXPECT_THAT(sites[2].kernel, EndsWith("write_at<unsigned int>"));
  EXPECT_EQ(sites[2].conflicts, 1);
}

}  // namespace
}  // namespace fmha_bwd
