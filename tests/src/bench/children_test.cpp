#include "src/bench/children.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <utility>

#include "tests/src/files/files_test.h"

namespace fmha_bwd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

namespace fs = std::filesystem;

TEST(Without, TakesOptionsWithTheirValuesAndFlagsAlone) {
  EXPECT_THAT(
      without({"--a", "1", "--b=2", "--c", "3", "--f", "x", "--f=on", "--ab", "4"}, {"--a", "--b"}, {"--f"}),
      ElementsAre("--c", "3", "x", "--ab", "4"));
}

TEST(Without, TakesEachThatIsThereAndOneWithoutItsValue) {
  EXPECT_THAT(without({"--a", "1", "--a=2", "x", "--a"}, {"--a"}, {}), ElementsAre("x"));
  EXPECT_THAT(without({}, {"--a"}, {"--f"}), IsEmpty());
}

TEST(Child, EndsWithItsCode) {
  EXPECT_EQ(Child("/bin/sh", {"-c", "exit 0"}).wait(), 0);
  EXPECT_EQ(Child("/bin/sh", {"-c", "exit 5"}).wait(), 5);
}

TEST(Child, EndsWith128AndTheSignalThatEndedIt) {
  EXPECT_EQ(Child("/bin/sh", {"-c", "kill -9 $$"}).wait(), 137);
  EXPECT_EQ(Child("/bin/sh", {"-c", "kill -15 $$"}).wait(), 143);
}

TEST(Child, TakesItsWordsAsTheyAre) {
  const TestFolder folder;
  const std::string file = (folder.path() / "words").string();
  EXPECT_EQ(Child("/bin/sh", {"-c", R"(printf '%s\n' "$@" > "$0")", file, "a b", "$HOME", "", "'"}).wait(),
            0);
  EXPECT_EQ(contents(file), "a b\n$HOME\n\n'\n");
}

TEST(Child, IsFoundOnThePath) { EXPECT_EQ(Child("true", {}).wait(), 0); }

TEST(Child, ReadsNothingAndItsStdoutGoesNowhere) {
  const TestFolder folder;
  const std::string file = (folder.path() / "links").string();
  const std::string script =
      R"(in=$(readlink /proc/$$/fd/0); out=$(readlink /proc/$$/fd/1); echo "$in $out" > "$0")";
  EXPECT_EQ(Child("/bin/sh", {"-c", script, file}).wait(), 0);
  EXPECT_EQ(contents(file), "/dev/null /dev/null\n");
}

TEST(Child, HasNotEndedWhileItRuns) {
  const TestFolder folder;
  const std::string go = (folder.path() / "go").string();
  Child child("/bin/sh", {"-c", R"(until [ -e "$0" ]; do sleep 0.01; done; exit 7)", go});
  EXPECT_EQ(child.ended(), std::nullopt);
  put(go, "");
  std::optional<int> code;
  while (!(code = child.ended())) std::this_thread::yield();
  EXPECT_EQ(code, 7);
}

TEST(Child, IsEndedWhereNobodyWaitedForIt) {
  const TestFolder folder;
  const fs::path file = folder.path() / "ended";
  {
    const Child child(
        "/bin/sh", {"-c", R"(trap 'echo yes > "$0.2"; exit' TERM; : > "$0.1"; while :; do sleep 0.01; done)",
                    file.string()});
    while (!fs::exists(file.string() + ".1")) std::this_thread::yield();
  }
  EXPECT_EQ(contents(file.string() + ".2"), "yes\n");
}

TEST(Child, EndsWhereThisProcessIsKilled) {
  const TestFolder folder;
  const std::string file = (folder.path() / "pid").string();
  const pid_t parent = fork();
  if (parent == 0) {
    const Child child("/bin/sh", {"-c", R"(echo $$ > "$0.new"; mv "$0.new" "$0"; exec sleep 60)", file});
    while (!std::filesystem::exists(file)) usleep(1000);
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(parent, &status, 0), parent);
  ASSERT_TRUE(WIFSIGNALED(status));
  const std::string stat = "/proc/" + std::to_string(std::stoi(contents(file))) + "/stat";
  const auto runs = [&] {
    const std::string text = contents(stat);
    return !text.empty() && text.find(") Z ") == std::string::npos;  // nobody may have waited for it
  };
  while (runs()) usleep(1000);  // the test's time limit is the other end
}

TEST(Child, MayBeMoved) {
  Child child("/bin/sh", {"-c", "exit 3"});
  Child other(std::move(child));
  EXPECT_EQ(other.wait(), 3);
}

TEST(Child, SaysWhichProgramCannotBeRun) {
  const TestFolder folder;
  const std::string nowhere = (folder.path() / "nothing").string();
  EXPECT_EQ(message_of([&] { Child(nowhere, {}).wait(); }, ExitCode::device_error),
            "'" + nowhere + "' cannot be run: No such file or directory");
  put(nowhere, "not a program");
  EXPECT_EQ(message_of([&] { Child(nowhere, {}).wait(); }, ExitCode::device_error),
            "'" + nowhere + "' cannot be run: Permission denied");
}

TEST(ThisProgram, IsThisTest) { EXPECT_EQ(fs::path(this_program()).filename(), "children_test"); }

TEST(ScratchFolder, IsThereAndThenGone) {
  fs::path path;
  {
    const ScratchFolder folder;
    path = folder.path();
    EXPECT_THAT(path.filename().string(), StartsWith("fmha_bwd_"));
    put(path / "file", "x");
    EXPECT_TRUE(fs::exists(path / "file"));
  }
  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace fmha_bwd
