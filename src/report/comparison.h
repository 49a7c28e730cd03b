// The report of a comparison (bench/compare.h) in each of its formats.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "bench/compare.h"
#include "src/report/style.h"
#include "src/terminal.h"

namespace fmha_bwd {

enum class ComparisonFormat { table, json, markdown, junit };

struct ComparisonReport {
  ComparisonFormat format = ComparisonFormat::table;
  std::optional<std::string> output;  // a file for `format`; nothing: stdout
  std::optional<std::string> junit;   // further files
  std::optional<std::string> markdown;
  bool quiet = false;  // of the table only the conclusion, and nothing on stderr
};

/// "1 slower, 4 same, 1 unclear (1 with wrong numbers) of 6 cases": the worst first, without what there is
/// not.
std::string conclusion_of(const Comparison& comparison);

/// What slower and faster mean under these settings, in one line.
std::string rule_of(const Comparison& comparison);

/// How a verdict is painted.
Style style_of(CaseVerdict verdict);

/// One p for a case: that of being faster where it is, else that of being slower.
double p_of(const CaseComparison& item);

/// Aligned columns in the order of the sweep; the last line is the conclusion.
std::string comparison_table(const Comparison& comparison, bool colour);
/// One object and a newline: settings, counts, exit code and every member of each case.
std::string comparison_json(const Comparison& comparison);
/// A heading and a table for a CI summary page, the worst first.
std::string comparison_markdown(const Comparison& comparison);
/// A testcase for each case: slower is a failure; unclear, wrong numbers and missing are errors; new, and
/// missing where that is allowed, are skipped.
std::string comparison_junit(const Comparison& comparison);

/// Throws Error (device_error) where a file of the report cannot be written, so that no work is in vain.
void check_writable(const ComparisonReport& report);

/// Writes the report to its places and returns exit_code_of(comparison). Throws Error (device_error) where it
/// cannot be written.
ExitCode report_comparison(const Comparison& comparison, const ComparisonReport& report,
                           const Console& console);

}  // namespace fmha_bwd
