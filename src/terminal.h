// Where the program prints, and what that place can show.
#pragma once

#include <ostream>

namespace fmha_bwd {

inline constexpr int kDefaultWidth = 100;  // of results that no terminal shows

struct Console {
  std::ostream& out;  // results
  std::ostream& err;  // everything else
  bool out_colour = false;
  bool err_is_terminal = false;   // and can draw over a line
  int err_width = 80;             // columns
  int out_width = kDefaultWidth;  // columns, at least 40
};

/// std::cout and std::cerr as they are now.
Console standard_console();

/// Whether to write colours: only to a terminal that can show them, and not where NO_COLOR is set to anything
/// (https://no-color.org). `no_color` and `term` are the values of NO_COLOR and TERM, nullptr where unset.
bool colour_wanted(bool is_terminal, const char* no_color, const char* term);

}  // namespace fmha_bwd
