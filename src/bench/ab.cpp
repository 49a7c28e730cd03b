#include "src/bench/ab.h"

#include <fmt/format.h>

#include <map>

#include "base/error.h"
#include "bench/merge.h"
#include "bench/results_json.h"
#include "src/bench/children.h"
#include "src/bench/context.h"

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

class Rounds {
 public:
  Rounds(const BenchOptions& options, const std::vector<std::string>& only) : options_(options) {
    words_ = without(options.given,
                     {"--ab", "--output", "--rounds", "--junit", "--markdown", "--max-slowdown", "--alpha",
                      "--min-time", "--max-time", "--benchmark_repetitions"},
                     {"--quiet", "--allow-unlike", "--allow-missing"});
    words_.insert(words_.begin(), "bench");
    words_.insert(words_.end(),
                  {"--rounds", "1", "--quiet", "--output", (folder_.path() / "round.json").string()});
    if (!options.samples) {
      const auto share = static_cast<double>(options.rounds);
      words_.insert(words_.end(), {"--min-time", fmt::format("{}", options.min_seconds / share), "--max-time",
                                   fmt::format("{}", options.max_seconds / share)});
    }
    if (only.empty() || only.size() > kMostInFilter) return;
    words_ = without(words_, {"--shard", "--benchmark_filter"}, {});  // of the whole sweep
    words_.push_back("--benchmark_filter=" + filter_of(only));
  }

  /// One round of every case by `program`.
  void take(const std::string& program, BenchResults& results) {
    Words words = words_;
    // The first round verified the case.
    if (!results.cases.empty() && !options_.on_cpu()) words.insert(words.end(), {"--verify", "none"});
    const std::filesystem::path file = folder_.path() / "round.json";
    std::filesystem::remove(file);
    const int code = Child(program, words).wait();
    if (!std::filesystem::exists(file)) {
      throw Error(ExitCode::device_error,
                  fmt::format("'{}' ended with code {} and left no results of bench", program, code));
    }
    BenchResults round = read_results(file, "--ab");
    if (code != static_cast<int>(exit_code_of(round))) {
      throw Error(ExitCode::device_error,
                  fmt::format("'{}' ended with code {} before it was done", program, code));
    }
    round.context.command = command_of(options_);
    round.context.rounds = options_.rounds;
    round.context.min_seconds = options_.min_seconds;
    round.context.max_seconds = options_.max_seconds;
    pool(results, std::move(round));
  }

 private:
  const BenchOptions& options_;
  ScratchFolder folder_;
  Words words_;
};

}  // namespace

void measure_ab(const BenchOptions& options, std::int64_t rounds, const std::vector<std::string>& only,
                AbResults& results, Progress& progress, const std::function<void()>& after_round) {
  Rounds all(options, only);
  const std::string own = this_program();
  progress.expect(2 * rounds);
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (const bool base : {round % 2 == 0, round % 2 != 0}) {
      progress.step(fmt::format("round {}: {}", round + 1, base ? *options.other_binary : own));
      all.take(base ? *options.other_binary : own, base ? results.base : results.latest);
    }
    after_round();
  }
}

}  // namespace fmha_bwd
