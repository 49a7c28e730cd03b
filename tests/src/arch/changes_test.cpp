#include "src/arch/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/src/arch/made_up.h"

namespace fmha_bwd {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// What becomes of one kernel where `edit` makes the second build.
template <class Edit>
ResourceChanges changes_by(const Edit& edit) {
  KernelResources after = made_up_kernel();
  edit(after);
  return changes_between(made_up_table({made_up_kernel()}), made_up_table({after}));
}

TEST(ChangesTest, TheSameKernelsHaveNone) {
  const ResourceChanges changes = changes_by([](KernelResources&) {});
  EXPECT_EQ(changes.compared, 1);
  EXPECT_THAT(changes.kernels, IsEmpty());
  EXPECT_THAT(changes.not_compared, IsEmpty());
  EXPECT_FALSE(changes.worse());
}

TEST(ChangesTest, MoreSpillsFewerWavesOrFewerMatrixInstructionsAreWorse) {
  EXPECT_TRUE(changes_by([](KernelResources& kernel) { kernel.spilled = 1; }).worse());
  EXPECT_TRUE(changes_by([](KernelResources& kernel) { kernel.waves = 2; }).worse());
  EXPECT_TRUE(changes_by([](KernelResources& kernel) { kernel.matrix = 31; }).worse());
}

TEST(ChangesTest, OtherChangesAreShownAndAreNotWorse) {
  EXPECT_FALSE(changes_by([](KernelResources& kernel) { kernel.waves = 4; }).worse());
  EXPECT_FALSE(changes_by([](KernelResources& kernel) { kernel.matrix = 33; }).worse());
  EXPECT_FALSE(changes_by([](KernelResources& kernel) { kernel.waves.reset(); }).worse());
  const ResourceChanges changes = changes_by([](KernelResources& kernel) {
    kernel.vector = 170;
    kernel.loop = 700;
  });
  EXPECT_FALSE(changes.worse());
  ASSERT_THAT(changes.kernels, SizeIs(1));
  const KernelChange& change = changes.kernels[0];
  EXPECT_EQ(change.fate, Fate::changed);
  ASSERT_THAT(change.numbers, SizeIs(2));
  EXPECT_EQ(change.numbers[0].name, "vector");
  EXPECT_EQ(change.numbers[0].before, 168);
  EXPECT_EQ(change.numbers[0].after, 170);
  EXPECT_EQ(change.numbers[1].name, "loop");
}

TEST(ChangesTest, FewerSpillsAreNotWorse) {
  KernelResources before = made_up_kernel();
  before.spilled = 9;
  EXPECT_FALSE(changes_between(made_up_table({before}), made_up_table({made_up_kernel()})).worse());
}

TEST(ChangesTest, AKernelOfAnotherNameIsNewAndTheOldOneGone) {
  const ResourceChanges changes =
      changes_between(made_up_table({made_up_kernel(), made_up_kernel("sm_90a", "old")}),
                      made_up_table({made_up_kernel(), made_up_kernel("sm_90a", "young")}));
  EXPECT_EQ(changes.compared, 1);
  ASSERT_THAT(changes.kernels, SizeIs(2));
  EXPECT_EQ(changes.kernels[0].fate, Fate::appeared);
  EXPECT_EQ(changes.kernels[0].kernel.kernel, "young");
  EXPECT_EQ(changes.kernels[1].fate, Fate::gone);
  EXPECT_EQ(changes.kernels[1].kernel.kernel, "old");
  EXPECT_FALSE(changes.worse());
}

TEST(ChangesTest, KernelsOfOneNameInTwoFamiliesAreTwo) {
  KernelResources other = made_up_kernel();
  other.family = "simt";
  other.spilled = 5;
  const ResourceTable both = made_up_table({made_up_kernel(), other});
  EXPECT_EQ(changes_between(both, both).compared, 2);
  EXPECT_THAT(changes_between(both, both).kernels, IsEmpty());
}

TEST(ChangesTest, ArchitecturesThatOneSideAloneHasAreNamedAndNotCompared) {
  const ResourceChanges changes = changes_between(made_up_table({made_up_amd_kernel(), made_up_kernel()}),
                                                  made_up_table({made_up_kernel("sm_80"), made_up_kernel()}));
  EXPECT_EQ(changes.compared, 1);
  EXPECT_THAT(changes.kernels, IsEmpty());
  EXPECT_THAT(changes.not_compared, ElementsAre("amd gfx942: only the baseline has its kernels",
                                                "nvidia sm_80: the baseline does not have its kernels"));
}

TEST(ChangesTest, APlatformOfWhichOnlyAPartCouldBeReadIsUnknown) {
  ResourceTable after = made_up_table({made_up_kernel()});
  after.platforms[1].missing = "cuobjdump failed";
  const ResourceChanges changes =
      changes_between(made_up_table({made_up_kernel(), made_up_kernel("sm_90a", "unread")}), after);
  EXPECT_THAT(changes.unknown, ElementsAre("nvidia sm_90a: cuobjdump failed"));
  EXPECT_EQ(changes.compared, 1);
}

}  // namespace
}  // namespace fmha_bwd
