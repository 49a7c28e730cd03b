#include "src/arch/resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/src/arch/made_up.h"
#include "tests/src/files/files_test.h"

namespace fmha_bwd {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

std::vector<std::string> names_of(const ResourceTable& table) {
  std::vector<std::string> names;
  for (const KernelResources& kernel : table.kernels) names.push_back(kernel.arch + " " + kernel.kernel);
  return names;
}

TEST(ResourcesTest, JsonGivesTheTableBack) {
  const TestFolder folder;
  const ResourceTable table = made_up_table({made_up_amd_kernel(), made_up_kernel()});
  put(folder.path() / "table.json", json_of(table).dump());
  const ResourceTable read = read_resources(folder.path() / "table.json", "--baseline");
  EXPECT_EQ(read.platforms, table.platforms);
  EXPECT_EQ(read.kernels, table.kernels);
}

TEST(ResourcesTest, AFileThatIsNoTableIsRefused) {
  const TestFolder folder;
  const auto message = [&](const std::string& text) {
    put(folder.path() / "table.json", text);
    return message_of([&] { read_resources(folder.path() / "table.json", "--baseline"); });
  };
  for (const char* text : {"", "{", "[]", "{}", R"({"platforms": [], "kernels": [{}]})",
                           R"({"platforms": [{"platform": 5}], "kernels": []})"}) {
    EXPECT_THAT(message(text), StartsWith("--baseline: '")) << text;
    EXPECT_THAT(message(text), HasSubstr("is not what arch --format json writes")) << text;
  }
  EXPECT_EQ(message_of([&] { read_resources(folder.path() / "none", "--baseline"); }),
            "--baseline: cannot read '" + (folder.path() / "none").string() + "'");
}

TEST(ResourcesTest, EachPartOfAFilterLeavesItsKernels) {
  const ResourceTable table =
      made_up_table({made_up_amd_kernel(), made_up_kernel("sm_80"), made_up_kernel("sm_90a", "other<1>")});
  EXPECT_THAT(filtered(table, {}).kernels, SizeIs(3));
  EXPECT_THAT(names_of(filtered(table, {.platform = "amd", .arch = {}, .family = {}, .kernel = {}})),
              ElementsAre("gfx942 forward_kernel<Half, 64>"));
  EXPECT_THAT(names_of(filtered(table, {.platform = {}, .arch = "sm_90", .family = {}, .kernel = {}})),
              ElementsAre("sm_90a other<1>"));
  EXPECT_THAT(names_of(filtered(table, {.platform = {}, .arch = {}, .family = "simt", .kernel = {}})),
              ElementsAre("gfx942 forward_kernel<Half, 64>"));
  EXPECT_THAT(names_of(filtered(table, {.platform = {}, .arch = {}, .family = {}, .kernel = "dk_dv"})),
              ElementsAre("sm_80 dq_dk_dv_kernel<Half, 64>"));
}

TEST(ResourcesTest, AFilterLeavesThePlatformsAndArchitecturesThatItNames) {
  const ResourceTable table = made_up_table({});
  const auto named = filtered(table, {.platform = {}, .arch = "sm_90a", .family = {}, .kernel = {}});
  EXPECT_THAT(named.platforms, ElementsAre(CodePlatform{"nvidia", {"sm_90a"}, {}}));
  EXPECT_THAT(filtered(table, {.platform = "emulator", .arch = {}, .family = {}, .kernel = {}}).platforms,
              ElementsAre(CodePlatform{"emulator", {"gfx942"}, "no code"}));
  EXPECT_THAT(filtered(table, {.platform = "amd", .arch = "sm_80", .family = {}, .kernel = {}}).platforms,
              IsEmpty());
}

TEST(ResourcesTest, AnArchitectureWithoutItsLetterMeansTheOneWithIt) {
  EXPECT_TRUE(is_arch("sm_90a", "sm_90"));
  EXPECT_TRUE(is_arch("sm_90a", "sm_90a"));
  EXPECT_FALSE(is_arch("sm_90", "sm_90a"));
  EXPECT_FALSE(is_arch("gfx90a", "gfx942"));
}

TEST(BuiltResourcesTest, TheEmulatorHasArchitecturesAndNoKernels) {
  const ResourceTable table = built_resources(platforms());
  const CodePlatform& emulator = table.platforms.back();
  EXPECT_EQ(emulator.name, "emulator");
  EXPECT_THAT(emulator.architectures, testing::Contains("gfx942"));
  EXPECT_TRUE(emulator.missing.has_value());
  for (const KernelResources& kernel : table.kernels) EXPECT_NE(kernel.platform, "emulator");
}

/// Of the code objects that were linked; skips where no platform has any, or the tools to read them were
/// missing.
class BuiltCodeTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const CodePlatform& platform : table_.platforms) {
      if (!platform.missing) known_.push_back(platform);
    }
    if (known_.empty()) GTEST_SKIP() << "no GPU platform is built in whose code objects could be read";
  }

  const ResourceTable table_ = built_resources(platforms());
  std::vector<CodePlatform> known_;
};

TEST_F(BuiltCodeTest, EveryFamilyOfAPlatformIsThereOnEveryArchitecture) {
  for (const CodePlatform& platform : known_) {
    for (const std::string& arch : platform.architectures) {
      std::set<std::string> families;
      for (const KernelResources& kernel : table_.kernels) {
        if (kernel.platform == platform.name && kernel.arch == arch) families.insert(kernel.family);
      }
      std::set<std::string> expected = {"-", "plain", "simt"};
      if (platform.name == "nvidia") expected.insert("mma");
      if (platform.name == "amd") expected.insert(arch.starts_with("gfx9") ? "cdna" : "rdna");
      if (arch == "sm_90a") expected.insert("hopper");
      EXPECT_EQ(families, expected) << arch;
    }
  }
}

TEST_F(BuiltCodeTest, EveryKernelHasItsNumbersAndANameOfItsOwn) {
  std::set<std::vector<std::string>> names;
  for (const KernelResources& kernel : table_.kernels) {
    const std::string where = kernel.arch + " " + kernel.kernel;
    EXPECT_TRUE(names.insert({kernel.arch, kernel.family, kernel.kernel}).second) << where;
    EXPECT_GT(kernel.vector.value_or(0), 0) << where;
    EXPECT_GT(kernel.waves.value_or(0), 0) << where;
    EXPECT_TRUE(kernel.spilled && kernel.scratch && kernel.shared && kernel.matrix && kernel.loop) << where;
    EXPECT_EQ(kernel.scalar.has_value(), kernel.platform == "amd") << where;
    EXPECT_EQ(kernel.kernel.find("fmha_bwd::"), std::string::npos) << where;
  }
}

TEST_F(BuiltCodeTest, TheMainLoopsOfHopperHaveMatrixInstructionsAndItSpillsNothing) {
  for (const KernelResources& kernel : table_.kernels) {
    if (kernel.family != "hopper") continue;
    EXPECT_EQ(kernel.spilled, 0) << kernel.kernel;
    const bool is_main =
        kernel.kernel.starts_with("dq_dk_dv_kernel<") || kernel.kernel.starts_with("forward_kernel<");
    EXPECT_EQ(kernel.matrix > 0, is_main) << kernel.kernel;
    // S, dP, dV, dK and dQ of a tile, each at least one instruction for every 16 columns of 64.
    if (kernel.kernel.starts_with("dq_dk_dv_kernel<")) {
      EXPECT_GE(kernel.matrix, 5 * 4) << kernel.kernel;
    }
  }
}

}  // namespace
}  // namespace fmha_bwd
