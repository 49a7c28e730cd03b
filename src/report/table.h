// The report for people.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace fmha_bwd {

struct TableStyle {
  bool colour = false;
  bool quiet = false;       // one line a mask and the conclusion
  bool verbose = false;     // every number in full, every verdict with its budgets
  std::size_t width = 100;  // columns that pictures may take
};

/// Sections of aligned columns; the conclusion is the last line.
std::string table_report(const RunResult& run, const TableStyle& style);

}  // namespace fmha_bwd
