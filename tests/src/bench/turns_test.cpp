#include "src/bench/turns.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "src/bench/children.h"
#include "tests/src/files/files_test.h"

namespace fmha_bwd {
namespace {

/// A process that waits for its turn, and then as often as it is told: writes `name` to a file, passes the
/// turn on and waits for it.
Child writer(const std::string& name, int times, const std::filesystem::path& file, int end) {
  const std::string script = R"(import os, socket, sys
turns = socket.socket(fileno=int(os.environ["FMHA_BWD_TURNS"]))
name, times, path = sys.argv[1:]
turns.recv(1)
for _ in range(int(times)):
    with open(path, "a") as file:
        file.write(name)
    try:
        turns.send(b"t", socket.MSG_NOSIGNAL)
    except BrokenPipeError:
        pass
    turns.recv(1)
)";
  return {"python3", {"-c", script, name, std::to_string(times), file.string()}, end};
}

TEST(TurnPair, LetsTwoProcessesTakeTurnsFromTheOneThatBegins) {
  for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {
    const TestFolder folder;
    TurnPair pair;
    Child one = writer("a", 4, folder.path() / "log", pair.end(0));
    Child other = writer("b", 4, folder.path() / "log", pair.end(1));
    pair.begin(first);
    EXPECT_EQ(one.wait(), 0);
    EXPECT_EQ(other.wait(), 0);
    EXPECT_EQ(contents(folder.path() / "log"), first == 0 ? "abababab" : "babababa");
  }
}

TEST(TurnPair, LeavesTheRestToOneProcessWhenTheOtherHasEnded) {
  const TestFolder folder;
  TurnPair pair;
  Child one = writer("a", 1, folder.path() / "log", pair.end(0));
  Child other = writer("b", 4, folder.path() / "log", pair.end(1));
  pair.begin(0);
  EXPECT_EQ(one.wait(), 0);
  EXPECT_EQ(other.wait(), 0);
  EXPECT_EQ(contents(folder.path() / "log"), "abbbb");
}

TEST(Turns, AreNoneWithoutAnEnd) {
  unsetenv(kTurnVariable);
  EXPECT_FALSE(Turns::of_this_process());
  for (const char* text : {"", "x", "-1", "0", "1", "2", "99999", " 5", "5x", "99999999999999"}) {
    setenv(kTurnVariable, text, 1);
    EXPECT_FALSE(Turns::of_this_process()) << text;
  }
  unsetenv(kTurnVariable);
}

/// Says that a pass takes 2 ms.
class TwoMilliseconds final : public Subject {
 public:
  double passes(std::int64_t passes) override { return 2.0 * static_cast<double>(passes); }
  std::optional<double> graph(std::int64_t passes) override { return static_cast<double>(passes); }
  bool has_batches() const override { return true; }
  std::optional<double> clock_mhz() override { return 1700.0; }
};

TEST(InTurn, PassesTheTurnOnAfterASampleAndWaitsForTheNext) {
  TurnPair pair;
  Turns turns(dup(pair.end(0)));
  const auto subject = in_turn(std::make_unique<TwoMilliseconds>(), turns);
  char turn = 't';
  ASSERT_EQ(send(pair.end(1), &turn, 1, 0), 1);  // already the next
  EXPECT_EQ(subject->passes(3), 6.0);
  EXPECT_EQ(recv(pair.end(1), &turn, 1, MSG_DONTWAIT), 1);
  EXPECT_EQ(subject->graph(2), 2.0);
  EXPECT_EQ(subject->clock_mhz(), 1700.0);
  EXPECT_TRUE(subject->has_batches());
  EXPECT_EQ(recv(pair.end(1), &turn, 1, MSG_DONTWAIT), -1);
}

}  // namespace
}  // namespace fmha_bwd
