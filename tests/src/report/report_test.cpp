#include "src/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "base/error.h"
#include "tests/src/report/sample_run.h"

namespace fmha_bwd {
namespace {

using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A folder of its own for each test.
class WriteFile : public testing::Test {
 protected:
  WriteFile() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / (std::string("fmha_bwd_report_") + test->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~WriteFile() override { fs::remove_all(folder_); }

  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  static void expect_refusal(const fs::path& path, const std::string& reason) {
    for (const auto write :
         {+[](const fs::path& p) { write_file(p, "text"); }, +[](const fs::path& p) { check_writable(p); }}) {
      try {
        write(path);
        ADD_FAILURE() << path << " was written";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::device_error);
        EXPECT_EQ(error.what(), "--output: cannot write '" + path.string() + "': " + reason);
      }
    }
  }

  fs::path folder_;
};

TEST_F(WriteFile, LeavesTheTextAndNothingBesideIt) {
  check_writable(folder_ / "report");
  EXPECT_EQ(files(), 0U);
  write_file(folder_ / "report", "old");
  write_file(folder_ / "report", "new");
  EXPECT_EQ(contents(folder_ / "report"), "new");
  EXPECT_EQ(files(), 1U);
}

TEST_F(WriteFile, NamesFileAndReasonWhereItCannot) {
  expect_refusal(folder_ / "absent" / "report", "No such file or directory");
  expect_refusal(folder_, "Is a directory");
  EXPECT_EQ(files(), 0U);
}

TEST_F(WriteFile, LeavesTheOldFileWhereTheNewOneDoesNotFit) {
  expect_refusal(folder_ / std::string(300, 'x'), "File name too long");
  EXPECT_EQ(files(), 0U);
}

TEST_F(WriteFile, FollowsASymbolicLink) {
  write_file(folder_ / "target", "old");
  fs::create_symlink(folder_ / "target", folder_ / "link");
  write_file(folder_ / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(contents(folder_ / "target"), "new");
}

TEST_F(WriteFile, WritesToADeviceWithoutReplacingIt) {
  check_writable("/dev/null");
  write_file("/dev/null", "text");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(WriteFile, SaysThatADeviceIsFull) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  EXPECT_THROW(write_file("/dev/full", "text"), Error);
}

TEST(WriteReport, SendsTheFormatThatWasAskedForToStdout) {
  std::ostringstream out;
  std::ostringstream err;
  const Console console{out, err};
  Options options;
  options.format = Format::json;
  write_report(sample_run(), options, console);
  EXPECT_EQ(out.str().front(), '{');
  out.str("");
  options.format = Format::csv;
  write_report(sample_run(), options, console);
  EXPECT_THAT(out.str(), testing::StartsWith("version,"));
  EXPECT_EQ(err.str(), "");
}

TEST(WriteReport, ColoursATerminalButNeverAFileNorJson) {
  std::ostringstream out;
  std::ostringstream err;
  Console console{out, err};
  Options options;
  write_report(sample_run(), options, console);
  EXPECT_THAT(out.str(), Not(HasSubstr("\033")));

  console.out_colour = true;
  write_report(sample_run(), options, console);
  EXPECT_THAT(out.str(), HasSubstr("\033[32mpassed\033[0m"));

  out.str("");
  options.format = Format::json;
  write_report(sample_run(), options, console);
  EXPECT_THAT(out.str(), Not(HasSubstr("\033")));

  options.format = Format::table;
  options.output = (fs::path(testing::TempDir()) / "fmha_bwd_colour_test").string();
  write_report(sample_run(), options, console);
  EXPECT_THAT(contents(*options.output), Not(HasSubstr("\033")));
  fs::remove(*options.output);
}

TEST(WriteReport, ToAFileSaysOnStderrHowItWentUnlessQuiet) {
  std::ostringstream out;
  std::ostringstream err;
  const Console console{out, err};
  Options options;
  options.output = (fs::path(testing::TempDir()) / "fmha_bwd_output_test").string();
  write_report(failed_run(), options, console);
  EXPECT_EQ(out.str(), "");
  EXPECT_EQ(err.str(), "FAILED: 1 of 3 masks with wrong numbers; report in " + *options.output + "\n");
  err.str("");
  options.quiet = true;
  write_report(failed_run(), options, console);
  EXPECT_EQ(err.str(), "");
  fs::remove(*options.output);
}

TEST(Print, NoticesThatStdoutIsGone) {
  std::ostream out(nullptr);
  std::ostringstream err;
  EXPECT_THROW(print(Console{out, err}, "text"), Error);
}

}  // namespace
}  // namespace fmha_bwd
