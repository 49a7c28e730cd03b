// The report for spreadsheets and data frames: a header and one row a mask.
#pragma once

#include <string>

#include "base/result.h"

namespace fmha_bwd {

/// Fields are quoted as RFC 4180 has it; lines end in "\n". The columns are the same for every run; what was
/// not computed is empty. Numbers are exact; those beyond the finite read "nan", "inf" and "-inf".
std::string csv_report(const RunResult& run);

}  // namespace fmha_bwd
