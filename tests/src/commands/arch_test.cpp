#include "src/commands/arch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/src/arch/made_up.h"
#include "tests/src/faulty_backend.h"
#include "tests/src/files/files_test.h"
#include "tests/src/outcome.h"

namespace fmha_bwd {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::json;

const std::vector<std::string> kSmall = {"--device",   "emulator", "--batch",    "1",  "--nhead", "1",
                                         "--seqlen-q", "20",       "--seqlen-k", "30", "--hdim",  "16"};

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Outcome arch(const std::vector<std::string>& words, const Decorate& decorate = {}) {
  return run_with(with({"arch"}, words), decorate);
}

/// Of a program that has these kernels; an Error is its exit code and message.
Outcome arch_of(const ResourceTable& table, const std::vector<std::string>& words) {
  std::ostringstream out;
  std::ostringstream err;
  const Console console{out, err};
  try {
    const ExitCode code = arch_command_of(table, words, console, {});
    return {static_cast<int>(code), out.str(), err.str()};
  } catch (const Error& error) {
    return {static_cast<int>(error.code()), out.str(), error.what()};
  }
}

const ResourceTable kTable = made_up_table({made_up_amd_kernel(), made_up_kernel("sm_80"), made_up_kernel()});

TEST(ArchTest, HelpNamesItsOptionsAndExitCodes) {
  const Outcome outcome = arch({"--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("--baseline"), HasSubstr("Exit codes:")));
}

TEST(ArchTest, WhatIsNotAllowedIsBadUsage) {
  const auto message = [](const std::vector<std::string>& words) {
    const Outcome outcome = arch(words);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    EXPECT_THAT(outcome.out, IsEmpty());
    return outcome.err;
  };
  EXPECT_EQ(message({"--format", "xml"}),
            "fmha_bwd: --format: 'xml' is not allowed; one of table, json, csv\n");
  EXPECT_EQ(message({"--device", "nvidia"}),
            "fmha_bwd: --device: 'nvidia' is not allowed; one of emulator\n");
  EXPECT_EQ(message({"--seqlen-q", "64"}), "fmha_bwd: --seqlen-q: no such option; see --help\n");
  EXPECT_EQ(message({"--arch"}), "fmha_bwd: --arch: no value given; see --help\n");
  EXPECT_EQ(message({"--arch", ""}), "fmha_bwd: --arch: no value given; see --help\n");
  EXPECT_THAT(message({"--baseline", "/nonexistent"}), StartsWith("fmha_bwd: --baseline: cannot read"));
  EXPECT_THAT(message(with(kSmall, {"--format", "csv"})), HasSubstr("allowed without --device"));
  EXPECT_THAT(message(with(kSmall, {"--hdim", "0"})), StartsWith("fmha_bwd: --hdim: 0 is not in"));
  EXPECT_THAT(message(with(kSmall, {"--nix"})), StartsWith("fmha_bwd: --nix: no such option"));
  EXPECT_THAT(message(with(kSmall, {"--save", "x", "--mask", "no_mask"})), StartsWith("fmha_bwd: --save: "));
  EXPECT_THAT(message(with(kSmall, {"--emulator-stats"})), StartsWith("fmha_bwd: --emulator-stats: "));
  EXPECT_THAT(message(with(kSmall, {"--verify", "none"})), StartsWith("fmha_bwd: --verify: "));
  EXPECT_THAT(message({"--device", "emulator", "--random", "3"}), StartsWith("fmha_bwd: --random: "));
  EXPECT_THAT(message({"--device", "emulator", "--version"}), StartsWith("fmha_bwd: --version: "));
}

TEST(ArchTest, AProgramWithoutGpuPlatformsListsTheEmulatorsArchitecturesAndExitsThree) {
  const ResourceTable emulator{{{"emulator", {"gfx942", "sm_80"}, "no code objects"}}, {}};
  const Outcome outcome = arch_of(emulator, {});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.out, "emulator: gfx942 sm_80; no code objects\n");
  EXPECT_EQ(outcome.err, "arch: no GPU platform is built in, so there is no kernel to list");
}

TEST(ArchTest, APlatformWhoseKernelsAreUnknownSaysWhy) {
  const ResourceTable table{{{"nvidia", {"sm_80"}, "no cuobjdump"}}, {}};
  const Outcome outcome = arch_of(table, {});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.out, "nvidia: sm_80; no cuobjdump\n");
  EXPECT_EQ(outcome.err, "arch: nothing is known of the kernels of nvidia: no cuobjdump");
}

TEST(ArchTest, TheTableStandsUnderItsArchitecture) {
  const Outcome outcome = arch_of(kTable, {"--arch", "sm_90"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(
      outcome.out,
      StartsWith(
          "nvidia sm_90a: 1 kernel, 0 of them spill, 1 have matrix instructions in a loop\n"
          "  family  kernel                     vector  spilled  scratch  shared  waves  matrix  loop\n"));
  EXPECT_THAT(
      outcome.out,
      HasSubstr(
          "  hopper  dq_dk_dv_kernel<Half, 64>     168        0        0    1024      3      32   713\n"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("gfx942:")));
}

TEST(ArchTest, QuietLeavesOneLineAnArchitecture) {
  EXPECT_EQ(arch_of(kTable, {"--quiet"}).out,
            "emulator: gfx942; no code\n"
            "amd gfx942: 1 kernel, 1 of them spill, 0 have matrix instructions in a loop\n"
            "nvidia sm_80: 1 kernel, 0 of them spill, 1 have matrix instructions in a loop\n"
            "nvidia sm_90a: 1 kernel, 0 of them spill, 1 have matrix instructions in a loop\n");
}

TEST(ArchTest, NothingThatMatchesIsExitCodeThree) {
  for (const char* option : {"--platform", "--arch", "--family", "--kernel"}) {
    const Outcome outcome = arch_of(kTable, {option, "nothing"});
    EXPECT_EQ(outcome.exit_code, 3);
    EXPECT_EQ(outcome.err, "arch: no kernel is of what was asked for");
  }
}

TEST(ArchTest, CsvHasALineAKernel) {
  EXPECT_EQ(arch_of(kTable, {"--format", "csv", "--platform", "amd"}).out,
            "platform,arch,family,kernel,vector,agpr,scalar,spilled,scalar_spilled,scratch,shared,waves,"
            "matrix,loop\n"
            "amd,gfx942,simt,\"forward_kernel<Half, 64>\",168,16,106,7,84,20,1024,3,0,0\n");
  EXPECT_THAT(arch_of(kTable, {"--format", "csv", "--arch", "sm_80"}).out,
              HasSubstr("nvidia,sm_80,hopper,\"dq_dk_dv_kernel<Half, 64>\",168,,,0,,0,1024,3,32,713\n"));
}

TEST(ArchTest, JsonHasPlatformsAndKernels) {
  const Json json = Json::parse(arch_of(kTable, {"--format", "json"}).out);
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["platforms"].size(), 3U);
  EXPECT_EQ(json["kernels"].size(), 3U);
  EXPECT_EQ(json["kernels"][2]["matrix"], 32);
  EXPECT_TRUE(json["kernels"][2]["agpr"].is_null());
  EXPECT_TRUE(json["changes"].is_null());
  EXPECT_TRUE(json["runs"].is_null());
}

/// A baseline of kTable, and what a second build says of it.
Outcome compared_with_baseline(const ResourceTable& now, const std::vector<std::string>& words = {}) {
  const TestFolder folder;
  const std::string file = (folder.path() / "before.json").string();
  EXPECT_EQ(arch_of(kTable, {"--format", "json", "--output", file}).exit_code, 0);
  return arch_of(now, with({"--baseline", file}, words));
}

TEST(ArchBaselineTest, TheSameBuildIsNoWorse) {
  const Outcome outcome = compared_with_baseline(kTable);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "no worse: 3 kernels compared with the baseline, 0 changed, gone or new, 0 worse\n");
}

TEST(ArchBaselineTest, AKernelThatSpillsIsExitCodeFour) {
  ResourceTable now = kTable;
  now.kernels[2].spilled = 12;
  now.kernels[2].waves = 2;
  now.kernels[1].vector = 100;
  const Outcome outcome = compared_with_baseline(now);
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_EQ(outcome.out,
            "  changed  nvidia sm_80   hopper  dq_dk_dv_kernel<Half, 64>  vector 168 -> 100\n"
            "  worse    nvidia sm_90a  hopper  dq_dk_dv_kernel<Half, 64>  spilled 0 -> 12, waves 3 -> 2\n"
            "worse: 3 kernels compared with the baseline, 2 changed, gone or new, 1 worse\n");
  EXPECT_THAT(compared_with_baseline(now, {"--quiet"}).out, Not(HasSubstr("changed  nvidia")));
}

TEST(ArchBaselineTest, AFilterHoldsForBothSides) {
  ResourceTable now = kTable;
  now.kernels[2].spilled = 12;
  const Outcome outcome = compared_with_baseline(now, {"--arch", "sm_80"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, "no worse: 1 kernel compared with the baseline, 0 changed, gone or new, 0 worse\n");
}

TEST(ArchBaselineTest, JsonSaysWhatChanged) {
  ResourceTable now = kTable;
  now.kernels[1].matrix = 0;
  now.kernels.pop_back();
  const Json changes = Json::parse(compared_with_baseline(now, {"--format", "json"}).out)["changes"];
  EXPECT_EQ(changes["compared"], 2);
  EXPECT_EQ(changes["worse"], true);
  EXPECT_EQ(changes["not_compared"][0], "nvidia sm_90a: only the baseline has its kernels");
  EXPECT_EQ(changes["kernels"][0]["change"], "changed");
  EXPECT_EQ(changes["kernels"][0]["numbers"]["matrix"],
            (Json{{"before", 32}, {"after", 0}, {"worse", true}}));
}

TEST(ArchBaselineTest, KernelsThatCannotBeReadAnyMoreAreExitCodeThree) {
  ResourceTable now = made_up_table({made_up_amd_kernel()});
  now.platforms[1].missing = "no cuobjdump";
  const Outcome outcome = compared_with_baseline(now);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.err, "arch: not compared with the baseline: nvidia sm_80: no cuobjdump");
  EXPECT_EQ(compared_with_baseline(now, {"--platform", "amd"}).exit_code, 0);
}

TEST(ArchBaselineTest, NothingInCommonIsExitCodeThree) {
  const Outcome outcome = compared_with_baseline(made_up_table({made_up_kernel("sm_100")}));
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.err, "arch: nothing was compared with the baseline");
}

TEST(ArchEmulatorTest, EveryFamilyIsVerifiedOnEveryArchitecture) {
  const Outcome outcome = arch(with(kSmall, {"--dtype", "fp32", "--format", "json"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json runs = Json::parse(outcome.out)["runs"];
  std::vector<std::string> architectures;
  for (const Platform& platform : platforms()) {
    if (platform.name == "emulator") architectures = platform.architectures;
  }
  const std::vector<std::string> families = {"cdna", "rdna", "mma", "simt", "plain"};
  ASSERT_EQ(runs.size(), families.size() * architectures.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(runs[i]["arch"], architectures[i / families.size()]);
    EXPECT_EQ(runs[i]["family"], families[i % families.size()]);
    const bool takes_fp32 = i % families.size() >= 3;
    EXPECT_EQ(runs[i]["verdict"], takes_fp32 ? "passed" : "refused") << runs[i];
    if (takes_fp32) {
      EXPECT_EQ(runs[i]["detail"], "3 of 3 masks");
    }
  }
}

TEST(ArchEmulatorTest, AFamilyThatRefusesTheProblemSaysWhy) {
  const Outcome outcome = arch(with(kSmall, {"--arch", "gfx942"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("  gfx942  cdna    passed   3 of 3 masks\n"
                                     "  gfx942  rdna    refused  it needs gfx11xx or gfx12xx, not gfx942\n"));
  EXPECT_THAT(outcome.out, HasSubstr("  gfx942  simt    passed   3 of 3 masks\n"
                                     "  gfx942  plain   refused  it computes fp32, not fp16\n"
                                     "2 passed, 3 refused of 5 runs\n"));
}

TEST(ArchEmulatorTest, OnlyRefusalsAreExitCodeThree) {
  const Outcome outcome = arch(with(kSmall, {"--family", "plain"}));
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("arch: no family ran in the emulator"));
  EXPECT_EQ(arch(with(kSmall, {"--arch", "nothing"})).exit_code, 3);
}

TEST(ArchEmulatorTest, AWrongFamilyIsExitCodeOneAndNamesMaskTensorAndCommand) {
  const Outcome outcome =
      arch(with(kSmall, {"--arch", "gfx942", "--mask", "top_left", "--quiet"}), with_fault(Fault::zeroed_dk));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("  gfx942  simt    wrong  top_left (dK)\n"
                                     "again: fmha_bwd --mask top_left"));
  EXPECT_THAT(outcome.out, HasSubstr("--arch gfx942 --kernel simt\n2 wrong, 3 refused of 5 runs\n"));
}

TEST(ArchEmulatorTest, ADeviceThatStopsIsExitCodeSixAndTheOthersRun) {
  const auto decorate = [](std::unique_ptr<Backend> backend) -> std::unique_ptr<Backend> {
    class Broken final : public Backend {
     public:
      explicit Broken(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}
      const Device& device() const override { return backend_->device(); }
      std::vector<KernelSupport> kernels(const Problem& problem, const MaskSpec& mask) const override {
        return backend_->kernels(problem, mask);
      }
      std::unique_ptr<Session> open(const Problem& problem, std::string_view kernel) override {
        if (device().arch == "gfx942") throw Error(ExitCode::device_error, "it broke");
        return backend_->open(problem, kernel);
      }

     private:
      std::unique_ptr<Backend> backend_;
    };
    return std::make_unique<Broken>(std::move(backend));
  };
  const Outcome outcome = arch(with(kSmall, {"--family", "simt", "--mask", "no_mask"}), decorate);
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("  gfx942   simt    stopped  it broke\n"),
                                 HasSubstr("  sm_80    simt    passed   1 of 1 masks\n")));
}

TEST(ArchEmulatorTest, AnOutputThatCannotBeWrittenIsExitCodeSixBeforeAnythingRuns) {
  bool opened = false;
  const Outcome outcome =
      arch(with(kSmall, {"--output", "/nonexistent/file"}), [&opened](std::unique_ptr<Backend> backend) {
        opened = true;
        return backend;
      });
  EXPECT_FALSE(opened);
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_THAT(outcome.err, StartsWith("fmha_bwd: --output: cannot write '/nonexistent/file'"));
}

}  // namespace
}  // namespace fmha_bwd
