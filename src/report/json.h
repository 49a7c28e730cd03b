// The report for programs: everything that a run found out.
#pragma once

#include <string>

#include "base/result.h"

namespace fmha_bwd {

/// One JSON object and a newline. Numbers that JSON has no word for are the strings "nan", "inf" and "-inf";
/// what was not computed is null. schema_version grows when a field changes its meaning or goes.
std::string json_report(const RunResult& run);

}  // namespace fmha_bwd
