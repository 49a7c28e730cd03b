// Text from elsewhere, made fit for what shows it.
#pragma once

#include <string>
#include <string_view>

namespace fmha_bwd {

/// Control characters, a line's end among them, become "\x0a".
std::string one_line(std::string_view text);

/// For XML 1.0, between tags and in attributes: one_line with the five entities. What is not UTF-8 and what
/// XML cannot hold becomes U+FFFD.
std::string xml_text(std::string_view text);

/// For a cell of a Markdown table, shown as it is: one_line with a backslash before every mark that means
/// something in Markdown or HTML.
std::string markdown_text(std::string_view text);

/// The same in a fixed-width font, where Markdown can do that: text with a backtick or a backslash becomes
/// markdown_text.
std::string markdown_code(std::string_view text);

}  // namespace fmha_bwd
