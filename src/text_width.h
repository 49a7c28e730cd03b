// How wide UTF-8 text is on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fmha_bwd {

/// Columns that `text` takes: none for combining marks, two for East Asian wide characters and emoji, one for
/// anything else, a malformed byte included.
std::size_t display_width(std::string_view text);

/// The longest beginning of `text` that takes at most `columns` columns.
std::string truncated(std::string_view text, std::size_t columns);

}  // namespace fmha_bwd
