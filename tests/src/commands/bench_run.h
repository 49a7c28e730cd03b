// fmha_bwd bench on the emulator, with a problem that takes no time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/results_json.h"
#include "tests/src/files/files_test.h"
#include "tests/src/outcome.h"
#include "tests/src/timed_backend.h"

namespace fmha_bwd {

class BenchRun : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  BenchResults results(const std::string& name) const { return read_results(path(name), "test"); }

  /// What bench does with one tiny problem without a mask, two samples a round and these words too.
  static Outcome bench(const std::vector<std::string>& words, const Decorate& decorate = {}) {
    std::vector<std::string> all = {"bench", "--device",      "emulator", "--batch", "1", "--nhead",
                                    "1",     "--hdim",        "16",       "--mask",  "n", "--samples",
                                    "2",     "--warmup-time", "0"};
    const auto has = [&](const std::string& option) {
      return std::any_of(words.begin(), words.end(),
                         [&](const std::string& word) { return word.starts_with(option); });
    };
    if (!has("--seqlen")) all.insert(all.end(), {"--seqlen", "16"});
    if (!has("--rounds") && !has("--benchmark_repetitions")) all.insert(all.end(), {"--rounds", "2"});
    all.insert(all.end(), words.begin(), words.end());
    return run_with(all, decorate);
  }

  /// As many milliseconds as the problem has queries, times this.
  static Decorate paced(double factor = 1.0) {
    return with_times(
        [factor](const Problem& problem) { return factor * static_cast<double>(problem.seqlen_q); });
  }

 private:
  TestFolder folder_;
};

}  // namespace fmha_bwd
