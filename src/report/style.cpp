#include "src/report/style.h"

#include <fmt/format.h>

namespace fmha_bwd {

std::string painted(std::string_view text, Style style, bool colour) {
  if (!colour || text.empty()) return std::string(text);
  switch (style) {
    case Style::plain:
      break;
    case Style::strong:
      return fmt::format("\033[1m{}\033[0m", text);
    case Style::dim:
      return fmt::format("\033[2m{}\033[0m", text);
    case Style::good:
      return fmt::format("\033[32m{}\033[0m", text);
    case Style::bad:
      return fmt::format("\033[1;31m{}\033[0m", text);
  }
  return std::string(text);
}

}  // namespace fmha_bwd
