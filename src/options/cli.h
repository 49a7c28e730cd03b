// CLI11 with the program's manners: complaints of one line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace fmha_bwd {

/// Sets what all command lines of the program share: of an option given twice the last counts, help is the
/// caller's, and options and descriptions stand in columns.
void set_manners(CLI::App& app);

/// Parses `words` in their order and returns those that are no option of `app`, but for "--". Throws Error
/// (bad_usage) of one line that names the option.
std::vector<std::string> parse_words(CLI::App& app, const std::vector<std::string>& words);

/// Throws Error (bad_usage) for the first of `extras`, what parse_words returned.
void refuse_extras(const std::vector<std::string>& extras);

/// Its help text.
std::string help_of(const CLI::App& app);

}  // namespace fmha_bwd
