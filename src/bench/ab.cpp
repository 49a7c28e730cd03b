#include "src/bench/ab.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>

#include "base/error.h"
#include "bench/merge.h"
#include "bench/results_json.h"
#include "src/bench/children.h"
#include "src/bench/context.h"
#include "src/bench/turns.h"

namespace fmha_bwd {
namespace {

constexpr std::size_t kMostInFilter = 200;  // more are not worth telling apart

/// A regular expression for exactly these names.
std::string filter_of(const std::vector<std::string>& names) {
  std::string filter;
  for (const std::string& name : names) {
    filter += filter.empty() ? "^(" : "|";
    for (const char c : name) {
      if (std::string_view(".^$|()[]{}*+?\\").find(c) != std::string_view::npos) filter += '\\';
      filter += c;
    }
  }
  return filter + ")$";
}

/// Adds the rounds of `more` to the cases of `all`; what an earlier round knew of a case stays.
void pool(BenchResults& all, BenchResults more) {
  if (all.cases.empty()) {
    all = std::move(more);
    return;
  }
  std::map<std::string, BenchCase*> known;
  for (BenchCase& item : all.cases) known.emplace(item.name, &item);
  for (BenchCase& item : more.cases) {
    const auto found = known.find(item.name);
    if (found == known.end() || !found->second->error.empty()) continue;
    BenchCase& to = *found->second;
    to.rounds.insert(to.rounds.end(), item.rounds.begin(), item.rounds.end());
    if (item.error.empty()) continue;
    to.error = item.error;
    to.exit_code = item.exit_code;
    to.rounds.clear();
  }
}

struct Side {
  std::string name;
  std::string program;
  BenchResults& results;
};

class Rounds {
 public:
  Rounds(const BenchOptions& options, const std::vector<std::string>& only) : options_(options) {
    words_ = without(options.given,
                     {"--ab", "--output", "--rounds", "--junit", "--markdown", "--max-slowdown", "--alpha",
                      "--min-time", "--max-time", "--benchmark_repetitions"},
                     {"--quiet", "--allow-unlike", "--allow-missing"});
    words_.insert(words_.begin(), "bench");
    words_.insert(words_.end(), {"--rounds", "1", "--quiet"});
    if (!options.samples) {
      const auto share = static_cast<double>(options.rounds);
      words_.insert(words_.end(), {"--min-time", fmt::format("{}", options.min_seconds / share), "--max-time",
                                   fmt::format("{}", options.max_seconds / share)});
    }
    if (!only.empty() && only.size() <= kMostInFilter) {
      words_ = without(words_, {"--shard", "--benchmark_filter"}, {});  // of the whole sweep
      words_.push_back("--benchmark_filter=" + filter_of(only));
    }
    if (!options.on_cpu()) return;
    // So that both sides are at the same case all the time.
    words_.push_back("--benchmark_enable_random_interleaving=false");
    words_ = without(words_, {"--samples"}, {});
    words_.insert(words_.end(), {"--samples", fmt::format("{}", options.samples.value())});
  }

  /// One round of every case by each side. On a CPU, whose state changes within a second, both processes run
  /// at a time and take turns, sample by sample; a device is left to one process at a time.
  void take(const std::array<Side, 2>& sides) {
    if (!options_.on_cpu()) {
      for (const Side& side : sides) {
        Child child = start(side, std::nullopt);
        collect(side, child.wait());
      }
      return;
    }
    TurnPair turns;
    Child first = start(sides[0], turns.end(0));
    Child second = start(sides[1], turns.end(1));
    turns.begin(0);
    collect(sides[0], first.wait());
    collect(sides[1], second.wait());
  }

 private:
  /// The file with the round of that side.
  std::filesystem::path file_of(const Side& side) const { return folder_.path() / (side.name + ".json"); }

  Child start(const Side& side, std::optional<int> turns) const {
    std::filesystem::remove(file_of(side));
    Words words = words_;
    words.insert(words.end(), {"--output", file_of(side).string()});
    // The first round verified the case.
    if (!side.results.cases.empty() && !options_.on_cpu()) words.insert(words.end(), {"--verify", "none"});
    return {side.program, words, turns};
  }

  /// Adds the round of a process that ended with `code`.
  void collect(const Side& side, int code) const {
    if (!std::filesystem::exists(file_of(side))) {
      throw Error(ExitCode::device_error,
                  fmt::format("'{}' ended with code {} and left no results of bench", side.program, code));
    }
    BenchResults round = read_results(file_of(side), "--ab");
    if (code != static_cast<int>(exit_code_of(round))) {
      throw Error(ExitCode::device_error,
                  fmt::format("'{}' ended with code {} before it was done", side.program, code));
    }
    if (options_.on_cpu() && round.context.in_turn.empty()) {
      throw Error(ExitCode::unsupported,
                  fmt::format("--ab: '{}' takes no turns: it is another version of this program, or does not "
                              "hand {} on to it",
                              side.program, kTurnVariable));
    }
    round.context.command = command_of(options_);
    round.context.rounds = options_.rounds;
    round.context.min_seconds = options_.min_seconds;
    round.context.max_seconds = options_.max_seconds;
    round.context.in_turn = folder_.path().filename().string();
    pool(side.results, std::move(round));
  }

  const BenchOptions& options_;
  ScratchFolder folder_;
  Words words_;
};

}  // namespace

void measure_ab(const BenchOptions& options, std::int64_t rounds, const std::vector<std::string>& only,
                AbResults& results, Progress& progress, const std::function<void()>& after_round) {
  Rounds all(options, only);
  const Side base = {"base", *options.other_binary, results.base};
  const Side latest = {"new", this_program(), results.latest};
  progress.expect(rounds);
  for (std::int64_t round = 0; round < rounds; ++round) {
    progress.step(fmt::format("round {} of {} and {}", round + 1, base.program, latest.program));
    if (round % 2 == 0) {
      all.take({base, latest});
    } else {
      all.take({latest, base});
    }
    after_round();
  }
}

}  // namespace fmha_bwd
