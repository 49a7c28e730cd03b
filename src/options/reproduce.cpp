// From options back to arguments.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "src/options.h"
#include "src/options/values.h"

namespace fmha_bwd {
namespace {

/// Grows by an option and its value.
class Reproduction {
 public:
  /// `complete`: what is at its default is told too.
  explicit Reproduction(bool complete) : complete_(complete) {}

  template <class Value>
  void always(const char* option, const Value& value) {
    arguments_.insert(arguments_.end(), {option, fmt::format("{}", value)});
  }
  template <class Value, class Otherwise>
  void add(const char* option, const Value& value, const Otherwise& otherwise) {
    if (complete_ || value != otherwise) always(option, value);
  }
  template <class Value>
  void add(const char* option, const std::optional<Value>& value) {
    if (value) always(option, *value);
  }
  /// One that has no opposite.
  void word(const char* option, bool value) {
    if (value) arguments_.emplace_back(option);
  }
  void flag(const char* name, bool value) {
    if (value) arguments_.push_back(fmt::format("--{}", name));
    if (!value && complete_) arguments_.push_back(fmt::format("--no-{}", name));
  }
  /// One length for all where they are equal; nothing where there is none.
  void lengths(const char* option, const std::vector<std::int64_t>& list) {
    if (list.empty()) return;
    const bool equal = std::all_of(list.begin(), list.end(), [&](auto x) { return x == list.front(); });
    always(option, equal ? fmt::format("{}", list.front()) : fmt::format("{}", fmt::join(list, ",")));
  }

  std::vector<std::string> arguments() && { return std::move(arguments_); }

 private:
  bool complete_;
  std::vector<std::string> arguments_;
};

void add_shape(Reproduction& result, const Problem& problem, const Problem& defaults) {
  result.add("--mode", problem.grouped() ? "group" : "batch", std::string_view("batch"));
  problem.grouped() ? result.always("--batch", problem.batch)
                    : result.add("--batch", problem.batch, defaults.batch);
  result.add("--nhead", problem.nhead_q, defaults.nhead_q);
  result.add("--nhead-k", problem.nhead_k, problem.nhead_q);
  if (problem.grouped()) {
    result.lengths("--seqlen-q", problem.seqlens_q);
    result.lengths("--seqlen-k", problem.seqlens_k);
  } else {
    result.add("--seqlen-q", problem.seqlen_q, defaults.seqlen_q);
    result.add("--seqlen-k", problem.seqlen_k, defaults.seqlen_k);
  }
  result.lengths("--seqlen-q-pad", problem.padded_q);
  result.lengths("--seqlen-k-pad", problem.padded_k);
  result.add("--hdim", problem.hdim_q, defaults.hdim_q);
  result.add("--hdim-v", problem.hdim_v, problem.hdim_q);
  result.add("--dtype", name_of(problem.dtype), name_of(defaults.dtype));
  result.add("--layout", name_of(problem.layout), name_of(defaults.layout));
  result.flag("deterministic", problem.deterministic);
}

void add_scores(Reproduction& result, const Problem& problem, const Problem& defaults) {
  result.add("--scale", problem.scale, default_scale(problem.hdim_q));
  result.add("--softcap", problem.softcap, defaults.softcap);
  result.add("--bias", name_of(problem.bias), name_of(defaults.bias));
  result.flag("alibi", problem.alibi);
  result.flag("sink", problem.sink);
  result.add("--dropout", problem.dropout.probability, defaults.dropout.probability);
  if (problem.dropout.probability == 0.0F) return;
  result.add("--dropout-seed", problem.dropout.seed, defaults.dropout.seed);
  result.add("--dropout-offset", problem.dropout.offset, defaults.dropout.offset);
}

void add_inputs(Reproduction& result, const Options& options, const Fill& defaults) {
  result.add("--load", options.load);
  if (options.all_loaded) return;
  const Fill& fill = options.fill;
  result.add("--fill", name_of(fill.kind), name_of(defaults.kind));
  result.add("--fill-do", fill.d_o_is_one ? "ones" : "fill", std::string_view("fill"));
  result.add("--seed", fill.seed, defaults.seed);
  if (fill.kind == FillKind::normal) {
    result.add("--std", fill.standard_deviation, defaults.standard_deviation);
  }
}

/// Empty where the run chooses.
std::string verify_text(const Options& options) {
  switch (options.verify) {
    case VerifyHow::automatic:
      return "";
    case VerifyHow::full:
      return "full";
    case VerifyHow::sample:
      return options.sample_rows ? fmt::format("sample:{}", *options.sample_rows) : "sample";
    case VerifyHow::none:
      return "none";
  }
  return "";
}

void add_verification(Reproduction& result, const Options& options) {
  if (const std::string how = verify_text(options); !how.empty()) result.always("--verify", how);
  if (!options.verifies()) return;
  result.add("--reference", options.reference == ReferenceOn::cpu ? "cpu" : "device",
             std::string_view("cpu"));
}

void add_run(Reproduction& result, const Options& options, const Options& defaults) {
  result.add("--device", options.device, defaults.device);
  result.add("--arch", options.arch);
  result.add("--kernel", options.kernel, defaults.kernel);
  add_verification(result, options);
  result.add("--check-determinism", options.check_determinism);
  result.word("--emulator-stats", options.emulator_stats);
  result.add("--warmup", options.warmup);
  result.add("--repeat", options.repeat);
}

}  // namespace

std::vector<std::string> reproducing_arguments(const Options& options, const MaskSpec& mask) {
  const Options defaults;
  Reproduction result(options.load.has_value());
  result.always("--mask", name_of(mask));
  add_shape(result, options.problem, defaults.problem);
  add_scores(result, options.problem, defaults.problem);
  add_inputs(result, options, defaults.fill);
  add_run(result, options, defaults);
  return std::move(result).arguments();
}

std::string reproducing_command(const Options& options, const MaskSpec& mask) {
  std::string command = "fmha_bwd";
  for (const std::string& argument : reproducing_arguments(options, mask)) {
    command += " " + shell_quoted(argument);
  }
  return command;
}

}  // namespace fmha_bwd
