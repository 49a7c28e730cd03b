#include "src/files/case_file.h"

#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "src/files/whole_file.h"

namespace fmha_bwd {
namespace {

constexpr std::string_view kSpace = " \t\r\n\v\f";

bool is_space(char c) { return kSpace.find(c) != std::string_view::npos; }
bool is_control(char c) { return (static_cast<unsigned char>(c) < 0x20 && !is_space(c)) || c == 0x7f; }

std::string line_of(std::string_view text, std::size_t position) {
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(position), '\n');
  return " in line " + std::to_string(line);
}

}  // namespace

std::vector<std::string> case_words_from(std::string_view text, const std::string& where) {
  const auto refuse = [&](const std::string& what) { throw Error(ExitCode::bad_usage, where + " " + what); };
  if (text.size() > kMaxCaseBytes) {
    refuse("has more than the " + std::to_string(kMaxCaseBytes) + " bytes that are allowed");
  }
  const auto control = std::find_if(text.begin(), text.end(), is_control);
  if (control != text.end()) {
    refuse("has a control character" + line_of(text, static_cast<std::size_t>(control - text.begin())));
  }
  std::vector<std::string> words;
  std::size_t begin = 0;
  while (begin < text.size()) {
    if (text[begin] == '#') {
      begin = std::min(text.find('\n', begin), text.size());
    } else if (is_space(text[begin])) {
      ++begin;
    } else {
      const std::size_t end = std::min(text.find_first_of(" \t\r\n\v\f#", begin), text.size());
      if (end - begin > kMaxCaseWordBytes) {
        refuse("has a word of more than " + std::to_string(kMaxCaseWordBytes) + " bytes" +
               line_of(text, begin));
      }
      words.emplace_back(text.substr(begin, end - begin));
      begin = end;
    }
  }
  return words;
}

std::filesystem::path case_file(const std::filesystem::path& folder) { return folder / "case.txt"; }

bool has_case(const std::filesystem::path& folder) {
  std::error_code error;
  return std::filesystem::exists(case_file(folder), error);
}

std::vector<std::string> read_case(const std::filesystem::path& folder, const std::string& option) {
  const std::filesystem::path path = case_file(folder);
  const std::uint64_t size = size_of_file(path, option);
  // One byte more than is allowed is enough to be refused.
  std::string text(static_cast<std::size_t>(std::min<std::uint64_t>(size, kMaxCaseBytes + 1)), '\0');
  read_file(path, 0, std::as_writable_bytes(std::span(text)), option);
  return case_words_from(text, place_text(option, path));
}

void write_case(const std::filesystem::path& folder, const std::vector<std::string>& arguments,
                const std::string& option) {
  const std::string where = place_text(option, case_file(folder));
  std::string text;
  std::size_t number = 0;
  for (const std::string& argument : arguments) {
    ++number;
    if (case_words_from(argument, where) != std::vector{argument}) {
      throw Error(ExitCode::bad_usage, where + " cannot hold argument " + std::to_string(number) +
                                           "; allowed is a word without white space and #");
    }
    text += (text.empty() ? "" : argument.starts_with("--") ? "\n" : " ") + argument;
  }
  if (!text.empty()) text += '\n';
  case_words_from(text, where);
  write_file(case_file(folder), {std::as_bytes(std::span(text))}, option);
}

}  // namespace fmha_bwd
