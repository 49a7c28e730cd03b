// The report of bench as a page for browsers.
#pragma once

#include <string>

#include "src/report/bench/bench_report.h"

namespace fmha_bwd {

/// One HTML page that needs nothing else: styles, scripts (src/report/page/) and data stand in it. The data
/// are one JSON object, which page_data describes; the scripts draw all of the page from it.
std::string page_of(const BenchReport& report);

/// What the page shows, as JSON that may stand in an HTML script element:
///
///     title, warnings
///     runs              label, about (device, driver, revision, ... in a line), command, bandwidth in GB/s
///     figures           the summary: text, label, about
///     tables            cases, comparison (null without a baseline), context: columns (key, title, about,
///                       numeric) and rows of cells [text, value], or text alone where there is no value
///     cases             what charts need of each row of tables.cases: problem, tflops, flops_per_byte,
///                       peak_tflops (null: unknown), command, error
///     masks             mask, lines as picture_of draws them, a cell's queries and keys, shapes
std::string page_data(const BenchReport& report);

}  // namespace fmha_bwd
