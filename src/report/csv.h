// The report for spreadsheets and data frames: a header and one row a mask.
#pragma once

#include <string>

#include "base/result.h"

namespace fmha_bwd {

/// A field as RFC 4180 has it: in quotes where it has a comma, a quote or a line's end.
std::string csv_quoted(const std::string& text);

/// Lines end in "\n". The columns are the same for every run; what was
/// not computed is empty. Numbers are exact; those beyond the finite read "nan", "inf" and "-inf".
std::string csv_report(const RunResult& run);

}  // namespace fmha_bwd
