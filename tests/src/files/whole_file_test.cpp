#include "src/files/whole_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "tests/src/files/files_test.h"

namespace fmha_bwd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

void write(const std::filesystem::path& path, const std::string& text) {
  write_file(path, {std::as_bytes(std::span(text))}, "--save");
}

TEST(WholeFile, IsWrittenInPartsWithItsFolderAndNothingBesideIt) {
  const TestFolder folder;
  const auto path = folder.path() / "new" / "folder" / "x";
  const std::string a = "ab";
  const std::string b = "c";
  write_file(path, {std::as_bytes(std::span(a)), {}, std::as_bytes(std::span(b))}, "--save");
  EXPECT_EQ(contents(path), "abc");
  const auto files = std::filesystem::directory_iterator(path.parent_path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST(WholeFile, ReplacesTheOneBefore) {
  const TestFolder folder;
  write(folder.path() / "x", "longer");
  write(folder.path() / "x", "new");
  EXPECT_EQ(contents(folder.path() / "x"), "new");
}

TEST(WholeFile, IsReadFromAnOffset) {
  const TestFolder folder;
  write(folder.path() / "x", "abcde");
  EXPECT_EQ(size_of_file(folder.path() / "x", "--load"), 5u);
  std::string text(3, '\0');
  read_file(folder.path() / "x", 1, std::as_writable_bytes(std::span(text)), "--load");
  EXPECT_EQ(text, "bcd");
  EXPECT_THAT(message_of([&] {
                read_file(folder.path() / "x", 3, std::as_writable_bytes(std::span(text)), "--load");
              }),
              AllOf(StartsWith("--load: '"), HasSubstr("has become shorter")));
}

TEST(WholeFile, ThatIsMissingOrNoRegularFileIsRefused) {
  const TestFolder folder;
  const auto size = [&](const char* name) {
    return message_of([&] { size_of_file(folder.path() / name, "--load"); });
  };
  EXPECT_THAT(size("none"), AllOf(StartsWith("--load: '"), HasSubstr("none' cannot be read: No such file")));
  EXPECT_THAT(size(""), HasSubstr("is not a regular file"));
  ASSERT_EQ(mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(size("pipe"), HasSubstr("is not a regular file"));
  write(folder.path() / "file", "");
  EXPECT_THAT(size("file/below"), HasSubstr("cannot be read: Not a directory"));
}

TEST(WholeFile, ThatCannotBeWrittenIsADeviceError) {
  const TestFolder folder;
  write(folder.path() / "file", "kept");
  const auto failure = [&](const std::filesystem::path& path) {
    return message_of([&] { write(path, "x"); }, ExitCode::device_error);
  };
  EXPECT_THAT(failure(folder.path() / "file" / "x"),
              AllOf(StartsWith("--save: '"), HasSubstr("cannot be written: Not a directory")));
  EXPECT_THAT(failure("/proc/none/x"), HasSubstr("cannot be written"));
  std::filesystem::create_directories(folder.path() / "taken");
  EXPECT_THAT(failure(folder.path() / "taken"), HasSubstr("cannot be written"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "taken.part"));
  EXPECT_EQ(contents(folder.path() / "file"), "kept");
}

TEST(WholeFile, OnAFullDiskIsADeviceErrorAndLeavesTheOneBefore) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const TestFolder folder;
  write(folder.path() / "x", "kept");
  std::filesystem::create_symlink("/dev/full", folder.path() / "x.part");
  EXPECT_THAT(
      message_of([&] { write(folder.path() / "x", std::string(1 << 20, 'y')); }, ExitCode::device_error),
      HasSubstr("cannot be written: No space left on device"));
  EXPECT_EQ(contents(folder.path() / "x"), "kept");
  EXPECT_FALSE(std::filesystem::is_symlink(folder.path() / "x.part"));
}

TEST(WholeFile, ReplacesWhatAKilledRunLeft) {
  const TestFolder folder;
  write(folder.path() / "x.part", "half of someth");
  write(folder.path() / "x", "all");
  EXPECT_EQ(contents(folder.path() / "x"), "all");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "x.part"));
}

TEST(WholeFile, FolderIsTriedWithoutATrace) {
  const TestFolder folder;
  check_folder(folder.path() / "a" / "b", "--save");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  std::filesystem::create_directories(folder.path() / "a" / "kept");
  check_folder(folder.path() / "a", "--save");
  check_folder(folder.path() / "a" / "b" / "", "--save");
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "a" / "kept"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "a" / "b"));
  write(folder.path() / "file", "");
  for (const std::filesystem::path& place : {folder.path() / "file", folder.path() / "file" / "below"}) {
    EXPECT_THAT(message_of([&] { check_folder(place, "--save"); }, ExitCode::device_error),
                StartsWith("--save: '" + place.string() + "' cannot be written: "));
  }
  EXPECT_THAT(message_of([] { check_folder("/proc/none", "--save"); }, ExitCode::device_error),
              StartsWith("--save: '/proc/none' cannot be written: "));
}

}  // namespace
}  // namespace fmha_bwd
