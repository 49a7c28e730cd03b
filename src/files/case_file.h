// case.txt in a folder of tensors: the program's options for them, separated by white space over any number
// of lines. A # begins a comment, to the end of its line.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fmha_bwd {

inline constexpr std::size_t kMaxCaseBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxCaseWordBytes = std::size_t{1} << 16;

/// The words of a case file's text. Throws Error (bad_usage), "`where` and what is wrong", for more than
/// kMaxCaseBytes, a longer word than kMaxCaseWordBytes, or a control character that is not white space.
std::vector<std::string> case_words_from(std::string_view text, const std::string& where);

/// "case.txt" in `folder`.
std::filesystem::path case_file(const std::filesystem::path& folder);
/// Whether there is a file of that name.
bool has_case(const std::filesystem::path& folder);
/// The arguments in the folder's case file. Throws Error (bad_usage) where it cannot be read. `option` begins
/// the message.
std::vector<std::string> read_case(const std::filesystem::path& folder, const std::string& option);
/// Writes them, each on a line, an option's values beside it, and makes the folder where there is none.
/// Throws Error (bad_usage) where read_case would not give back an argument, Error (device_error) where
/// writing fails.
void write_case(const std::filesystem::path& folder, const std::vector<std::string>& arguments,
                const std::string& option);

}  // namespace fmha_bwd
