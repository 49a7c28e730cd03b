#include "src/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string_view>

namespace fmha_bwd {
namespace {

/// Columns of the terminal; `otherwise` where there is none.
int width_of(int descriptor, int otherwise) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return otherwise;
  return size.ws_col;
}

/// Whether a line can be drawn over.
bool can_draw(bool is_terminal, const char* term) {
  return is_terminal && term != nullptr && std::string_view(term) != "dumb";
}

}  // namespace

Console standard_console() {
  const bool out_is_terminal = isatty(STDOUT_FILENO) == 1;
  return {std::cout,
          std::cerr,
          colour_wanted(out_is_terminal, std::getenv("NO_COLOR"), std::getenv("TERM")),
          can_draw(isatty(STDERR_FILENO) == 1, std::getenv("TERM")),
          width_of(STDERR_FILENO, 80),
          std::max(width_of(STDOUT_FILENO, kDefaultWidth), 40)};
}

bool colour_wanted(bool is_terminal, const char* no_color, const char* term) {
  const bool refused = no_color != nullptr && *no_color != '\0';
  return can_draw(is_terminal, term) && !refused;
}

}  // namespace fmha_bwd
