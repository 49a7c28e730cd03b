// From an option's text to its value. Every function throws Error (bad_usage) for what is not allowed.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fmha_bwd {

/// Throws Error (bad_usage), "option: complaint".
[[noreturn]] void refuse(std::string_view option, const std::string& complaint);

/// Throws where `text` is plainly the next option, or nothing.
void require_value(std::string_view option, const std::string& text);

/// Throws unless `text` is digits, with or without a minus before them.
void require_whole(std::string_view option, const std::string& text);

/// A whole number in [least, most].
template <class Integer>
Integer whole_number(std::string_view option, const std::string& text, Integer least, Integer most) {
  require_whole(option, text);
  Integer value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < least || value > most) {
    refuse(option, fmt::format("{} is not in {}..{}", text, least, most));
  }
  return value;
}

/// Whole numbers in [least, most] between commas; one at least.
std::vector<std::int64_t> whole_numbers(std::string_view option, const std::string& text, std::int64_t least,
                                        std::int64_t most);

float finite_number(std::string_view option, const std::string& text);

/// What stands between separators; one part at least, and parts may be empty.
std::vector<std::string> split(const std::string& text, char separator);

/// As a word for a POSIX shell: as it is, or between quotes.
std::string shell_quoted(const std::string& text);

/// The index of `text` among `names`.
template <std::size_t N>
std::size_t one_of(std::string_view option, const std::string& text,
                   const std::array<std::string_view, N>& names) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) {
    refuse(option, fmt::format("'{}' is not allowed; one of {}", text, fmt::join(names, ", ")));
  }
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace fmha_bwd
