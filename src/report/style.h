// Emphasis of text, shown as colour where the reader's terminal has it.
#pragma once

#include <string>
#include <string_view>

namespace fmha_bwd {

enum class Style { plain, strong, dim, good, bad };

/// `text` between ANSI escape sequences of `style`; unchanged without `colour`.
std::string painted(std::string_view text, Style style, bool colour);

}  // namespace fmha_bwd
