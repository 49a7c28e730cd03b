#include "src/kernel_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace fmha_bwd {
namespace {

/// "quick" takes no documents and no dropout, "thorough" all but dropout.
class TwoFamilies final : public Backend {
 public:
  const Device& device() const override { return device_; }
  std::vector<KernelSupport> kernels(const Problem& problem, const MaskSpec& mask) const override {
    const bool dropout = problem.dropout.probability > 0.0F;
    std::optional<std::string> quick;
    if (!mask.document_ends.empty()) quick = "no documents";
    if (dropout) quick = "no dropout";
    return {{"quick", quick}, {"thorough", dropout ? std::optional<std::string>("none") : std::nullopt}};
  }
  std::unique_ptr<Session> open(const Problem& /*problem*/, std::string_view /*kernel*/) override {
    return nullptr;
  }

 private:
  Device device_;
};

const MaskSpec kDocuments = masks_from("document:3").front();

void expect_error(const Options& options, const MaskSpec& mask, ExitCode code, const std::string& message) {
  try {
    choose_kernel(options, mask, TwoFamilies());
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    EXPECT_EQ(error.what(), message);
  }
}

TEST(KernelChoice, IsTheFastestThatTakesTheMask) {
  EXPECT_EQ(choose_kernel({}, kNoMask, TwoFamilies()).name, "quick");
  const KernelChoice choice = choose_kernel({}, kDocuments, TwoFamilies());
  EXPECT_EQ(choice.name, "thorough");
  EXPECT_EQ(choice.reason, "the fastest that supports the problem");
}

TEST(KernelChoice, IsTheOneThatTheBackendFoundFasterWhereItTakesTheMask) {
  class Measured final : public Backend {
   public:
    const Device& device() const override { return device_; }
    std::vector<KernelSupport> kernels(const Problem& /*problem*/, const MaskSpec& mask) const override {
      const bool documents = !mask.document_ends.empty();
      return {
          {"first", std::nullopt},
          {"second", documents ? std::optional<std::string>("no documents") : std::nullopt, "was faster"}};
    }
    std::unique_ptr<Session> open(const Problem& /*problem*/, std::string_view /*kernel*/) override {
      return nullptr;
    }

   private:
    Device device_;
  };
  const KernelChoice choice = choose_kernel({}, kNoMask, Measured());
  EXPECT_EQ(choice.name, "second");
  EXPECT_EQ(choice.reason, "was faster");
  EXPECT_EQ(choose_kernel({}, kDocuments, Measured()).name, "first");
  Options options;
  options.kernel = "first";
  EXPECT_EQ(choose_kernel(options, kNoMask, Measured()).name, "first");
}

TEST(KernelChoice, IsTheOneThatWasAskedFor) {
  Options options;
  options.kernel = "thorough";
  const KernelChoice choice = choose_kernel(options, kNoMask, TwoFamilies());
  EXPECT_EQ(choice.name, "thorough");
  EXPECT_EQ(choice.reason, "asked for");
}

TEST(KernelChoice, RefusesWithTheMaskAndEveryReason) {
  Options options;
  options.problem.dropout.probability = 0.5F;
  expect_error(options, kTopLeft, ExitCode::unsupported,
               "no kernel supports the problem under top_left (quick: no dropout; thorough: none)");
  options = {};
  options.kernel = "quick";
  expect_error(options, kDocuments, ExitCode::unsupported,
               "no kernel supports the problem under document:3 (quick: no documents)");
  options.kernel = "quik";
  expect_error(options, kNoMask, ExitCode::bad_usage,
               "--kernel: 'quik' is not allowed; one of auto, list, quick, thorough");
}

}  // namespace
}  // namespace fmha_bwd
