#include "src/bench/sweep_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string_view>

#include "src/options/values.h"

namespace fmha_bwd {
namespace {

constexpr std::array<std::string_view, 4> kLengths = {"--seqlen-q", "--seqlen-k", "--seqlen-q-pad",
                                                      "--seqlen-k-pad"};
constexpr std::array<std::string_view, 8> kWholes = {
    "--batch", "--nhead", "--nhead-k", "--hdim", "--hdim-v", "--seed", "--dropout-seed", "--dropout-offset"};
constexpr std::array<std::string_view, 12> kNames = {"--dtype",   "--layout", "--bias",  "--fill",
                                                     "--fill-do", "--kernel", "--scale", "--softcap",
                                                     "--dropout", "--std",    "--mode",  "--verify"};
constexpr std::array<std::string_view, 3> kFlags = {"--deterministic", "--alibi", "--sink"};

template <std::size_t N>
bool is_in(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// "128:8192:*2" as numbers; a text without a colon stays as it is.
std::vector<std::string> numbers_of(std::string_view option, const std::string& text) {
  if (text.find(':') == std::string::npos) return {text};
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() != 3 || parts[2].empty()) {
    refuse(option,
           fmt::format("'{}' is no range; allowed are FIRST:LAST:*FACTOR and FIRST:LAST:+STEP", text));
  }
  const auto first = whole_number<std::int64_t>(option, parts[0], 0, kMost);
  const auto last = whole_number<std::int64_t>(option, parts[1], 0, kMost);
  if (last < first) refuse(option, fmt::format("'{}' ends before it begins", text));
  const bool grows = parts[2].front() == '*';
  const bool has_sign = grows || parts[2].front() == '+';
  const auto by = whole_number<std::int64_t>(option, parts[2].substr(has_sign ? 1 : 0), grows ? 2 : 1, kMost);
  if (grows && first == 0)
    refuse(option, fmt::format("'{}' never grows; allowed is a first of 1 or more", text));
  std::vector<std::string> numbers;
  for (std::int64_t x = first; x <= last;) {
    numbers.push_back(fmt::format("{}", x));
    if (numbers.size() > kMostCombinations) refuse(option, fmt::format("'{}' has too many numbers", text));
    if (grows ? x > kMost / by : x > kMost - by) break;
    x = grows ? x * by : x + by;
  }
  return numbers;
}

std::vector<std::string> all_numbers(std::string_view option, const std::string& text, char separator) {
  std::vector<std::string> all;
  for (const std::string& part : split(text, separator)) {
    const std::vector<std::string> numbers = numbers_of(option, part);
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  return all;
}

/// One option's ways to stand in a case: each is the words that do.
struct Axis {
  std::vector<Words> choices;
};

Axis axis_of(const std::string& option, const std::vector<std::string>& values) {
  Axis axis;
  for (const std::string& value : values) axis.choices.push_back({option, value});
  return axis;
}

Axis flag_axis(const std::string& flag, const std::string& text) {
  Axis axis;
  for (const std::string& part : split(text, ',')) {
    const std::string name = flag.substr(2);
    if (part != "on" && part != "off") {
      refuse(flag, fmt::format("'{}' is not allowed; one of on, off, or both: {}=on,off", part, flag));
    }
    axis.choices.push_back({part == "on" ? flag : "--no-" + name});
  }
  return axis;
}

Axis value_axis(const std::string& option, const std::string& value, bool grouped) {
  if (option == "--seqlen") {
    Axis axis;
    for (const std::string& n : all_numbers(option, value, grouped ? ';' : ',')) {
      axis.choices.push_back({"--seqlen-q", n, "--seqlen-k", n});
    }
    return axis;
  }
  if (is_in(kLengths, option)) return axis_of(option, all_numbers(option, value, grouped ? ';' : ','));
  if (is_in(kWholes, option)) return axis_of(option, all_numbers(option, value, ','));
  if (is_in(kNames, option)) return axis_of(option, split(value, ','));
  return axis_of(option, {value});
}

bool is_group(const Words& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--mode=group") return true;
    if (words[i] == "--mode" && i + 1 < words.size() && words[i + 1] == "group") return true;
  }
  return false;
}

std::vector<Axis> axes_of(const Words& words) {
  const bool grouped = is_group(words);
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string option = words[i].substr(0, equals);
    const bool is_flag = is_in(kFlags, option);
    if (!option.starts_with("--") || (is_flag && equals == std::string::npos)) {
      axes.push_back({{{words[i]}}});
    } else if (is_flag) {
      axes.push_back(flag_axis(option, words[i].substr(equals + 1)));
    } else if (equals != std::string::npos) {
      axes.push_back(value_axis(option, words[i].substr(equals + 1), grouped));
    } else if (i + 1 < words.size() && !words[i + 1].starts_with("--")) {
      axes.push_back(value_axis(option, words[i + 1], grouped));
      ++i;
    } else {
      axes.push_back({{{words[i]}}});
    }
  }
  return axes;
}

}  // namespace

std::vector<Words> sweep_words(const Words& words) {
  std::vector<Words> all = {{}};
  for (const Axis& axis : axes_of(words)) {
    if (all.size() * axis.choices.size() > kMostCombinations) {
      refuse(axis.choices.front().front(), fmt::format("makes more than {} cases", kMostCombinations));
    }
    std::vector<Words> longer;
    longer.reserve(all.size() * axis.choices.size());
    for (const Words& begin : all) {
      for (const Words& choice : axis.choices) {
        longer.push_back(begin);
        longer.back().insert(longer.back().end(), choice.begin(), choice.end());
      }
    }
    all = std::move(longer);
  }
  return all;
}

}  // namespace fmha_bwd
