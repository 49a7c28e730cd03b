#include "src/bench/plan.h"

#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "base/error.h"
#include "src/bench/case_of.h"
#include "src/files/case_file.h"
#include "src/files/whole_file.h"
#include "src/options/values.h"

namespace fmha_bwd {
namespace {

// Options of a run that a sweep has its own of, or that make no case.
constexpr std::array<std::string_view, 13> kNotInSweeps = {"--output",
                                                           "--quiet",
                                                           "--random",
                                                           "--save",
                                                           "--save-on-failure",
                                                           "--format",
                                                           "--check-determinism",
                                                           "--warmup",
                                                           "--repeat",
                                                           "--verbose",
                                                           "--load",
                                                           "--version",
                                                           "--emulator-stats"};

void refuse_foreign(const Words& words) {
  for (const std::string& word : words) {
    const std::string option = word.substr(0, word.find('='));
    if (std::find(kNotInSweeps.begin(), kNotInSweeps.end(), option) == kNotInSweeps.end()) continue;
    refuse(option, "not an option of bench; allowed in a run, without the word bench");
  }
}

/// --kernel of the reference is none of a run's.
Operation take_reference(Words& words) {
  const std::string kernel = take_option(words, "--kernel").value_or("exact");
  if (kernel == "exact") return Operation::exact_reference;
  if (kernel == "textbook") return Operation::textbook_reference;
  refuse("--kernel", fmt::format("'{}' is not allowed with --device cpu; one of exact, textbook", kernel));
}

Options options_of(const Words& words) {
  std::vector<const char*> argv = {"fmha_bwd"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  const CommandLine command_line = parse_command_line(static_cast<int>(argv.size()), argv.data());
  if (command_line.request != Request::run) refuse("--kernel", "list: not allowed in a sweep");
  return command_line.options;
}

class Plan {
 public:
  explicit Plan(bool on_cpu) : on_cpu_(on_cpu) {}

  void add(const Words& line) {
    refuse_foreign(line);
    for (Words words : sweep_words(line)) {
      const Operation operation = on_cpu_ ? take_reference(words) : Operation::backward;
      const Options options = options_of(words);
      if (!cases_.empty() && options.arch != cases_.front().options.arch) {
        refuse("--arch", "is not the same in all cases; allowed is one, since results are of one device");
      }
      for (const MaskSpec& mask : options.masks) {
        PlannedCase planned{operation, options, {}};
        planned.options.masks = {mask};
        planned.item = case_of(operation, planned.options);
        if (!names_.insert(planned.item.name).second) continue;
        planned.item.index = static_cast<std::int64_t>(cases_.size());
        cases_.push_back(std::move(planned));
      }
    }
  }

  std::vector<PlannedCase> cases() && { return std::move(cases_); }

 private:
  bool on_cpu_;
  std::set<std::string> names_;
  std::vector<PlannedCase> cases_;
};

}  // namespace

std::optional<std::string> take_option(Words& words, std::string_view option) {
  std::optional<std::string> value;
  Words kept;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == option) {
      value = i + 1 < words.size() ? words[++i] : "";
    } else if (words[i].starts_with(option) && words[i][option.size()] == '=') {
      value = words[i].substr(option.size() + 1);
    } else {
      kept.push_back(std::move(words[i]));
    }
  }
  words = std::move(kept);
  return value;
}

std::vector<SweepLine> read_sweep(const std::filesystem::path& path) {
  std::string text(size_of_file(path, "--cases"), '\0');
  read_file(path, 0, std::as_writable_bytes(std::span(text)), "--cases");
  std::vector<SweepLine> lines;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string where = fmt::format("{}, line {}", place_text("--cases", path), ++number);
    Words words = case_words_from(std::string_view(text).substr(begin, end - begin), where);
    if (!words.empty()) lines.push_back({std::move(words), where});
    begin = end + 1;
  }
  return lines;
}

std::vector<PlannedCase> plan_cases(const std::vector<SweepLine>& lines, bool on_cpu) {
  Plan plan(on_cpu);
  for (const SweepLine& line : lines) {
    try {
      plan.add(line.words);
    } catch (const Error& error) {
      if (line.where.empty()) throw;
      throw Error(error.code(), fmt::format("{}: {}", line.where, error.what()));
    }
  }
  return std::move(plan).cases();
}

Shard shard_from(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) {
    refuse("--shard", fmt::format("'{}' is not allowed; I/N with I from 1 to N", text));
  }
  constexpr std::size_t kMost = 1'000'000;
  Shard shard;
  shard.count = whole_number<std::size_t>("--shard", text.substr(slash + 1), 1, kMost);
  shard.index = whole_number<std::size_t>("--shard", text.substr(0, slash), 1, shard.count);
  return shard;
}

bool name_matches(const std::string& name, const std::string& expression) {
  const bool inverted = expression.starts_with('-');
  regex_t regex = {};
  if (regcomp(&regex, expression.c_str() + (inverted ? 1 : 0), REG_EXTENDED | REG_NOSUB) != 0) {
    refuse("--benchmark_filter", fmt::format("'{}' is no regular expression", expression));
  }
  const bool found = regexec(&regex, name.c_str(), 0, nullptr, 0) == 0;
  regfree(&regex);
  return found != inverted;
}

std::vector<PlannedCase> filtered(std::vector<PlannedCase> all, const std::string& expression) {
  std::erase_if(all, [&](const PlannedCase& one) { return !name_matches(one.item.name, expression); });
  return all;
}

std::vector<PlannedCase> cases_of(std::vector<PlannedCase> all, const Shard& shard) {
  std::vector<PlannedCase> own;
  for (std::size_t i = shard.index - 1; i < all.size(); i += shard.count) own.push_back(std::move(all[i]));
  return own;
}

}  // namespace fmha_bwd
