// The report of bench as Markdown.
#pragma once

#include <string>

#include "src/report/bench/bench_report.h"

namespace fmha_bwd {

/// The title, the warnings and the tables (context, cases, comparison where there is a baseline) as
/// GitHub-flavoured Markdown.
std::string markdown_of(const BenchReport& report);

}  // namespace fmha_bwd
