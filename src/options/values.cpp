#include "src/options/values.h"

#include <cmath>
#include <system_error>

#include "base/error.h"

namespace fmha_bwd {

void refuse(std::string_view option, const std::string& complaint) {
  throw Error(ExitCode::bad_usage, fmt::format("{}: {}", option, complaint));
}

void require_value(std::string_view option, const std::string& text) {
  if (text.empty() || text.starts_with("--")) refuse(option, "no value given; see --help");
}

void require_whole(std::string_view option, const std::string& text) {
  require_value(option, text);
  const std::string_view digits = std::string_view(text).substr(text.front() == '-' ? 1 : 0);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    refuse(option, fmt::format("'{}' is not a whole number", text));
  }
}

std::vector<std::int64_t> whole_numbers(std::string_view option, const std::string& text, std::int64_t least,
                                        std::int64_t most) {
  require_value(option, text);
  std::vector<std::int64_t> numbers;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, comma - begin);
    if (part.empty()) refuse(option, fmt::format("'{}' has a comma without a number beside it", text));
    numbers.push_back(whole_number<std::int64_t>(option, part, least, most));
    begin = comma + 1;
  }
  return numbers;
}

float finite_number(std::string_view option, const std::string& text) {
  require_value(option, text);
  float value = 0.0F;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || error == std::errc::invalid_argument) {
    refuse(option, fmt::format("'{}' is not a number", text));
  }
  if (error == std::errc::result_out_of_range) {
    refuse(option, fmt::format("{} is beyond the range of fp32", text));
  }
  if (!std::isfinite(value)) refuse(option, fmt::format("'{}' is not a finite number", text));
  return value;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string shell_quoted(const std::string& text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+./:=,@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace fmha_bwd
