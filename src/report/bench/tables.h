// The tables of a report of bench, the same in each of its formats.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/report/bench/bench_report.h"
#include "src/report/columns.h"

namespace fmha_bwd {

/// Stands for what was not measured or is not known.
inline constexpr const char* kMissing = "—";

struct TableColumn {
  std::string key;  // names the column in the page's address
  std::string title;
  std::string about;  // what it is, in a few words
  Align align = Align::right;
};

struct TableCell {
  std::string text;             // kMissing where there is nothing
  std::optional<double> value;  // the number unrounded, in the column's unit; nothing for text
};

struct ReportTable {
  std::vector<TableColumn> columns;
  std::vector<std::vector<TableCell>> rows;  // a cell for each column
};

/// A row for each case of each run, in their order; a column "run" where there are several.
ReportTable cases_table(const BenchReport& report);

/// A row for each of report.compared; a column "run" where there are several. Intervals and verdicts have
/// columns only where one is given.
ReportTable comparison_table(const BenchReport& report);

/// A row for each thing known of how a run was measured, a column for each run and for the baseline. The
/// first cell names it, with a value where times are not comparable between runs in which it differs.
ReportTable context_table(const BenchReport& report);

/// "B2 H8 S512 D128", with a pair where the sides of Q and K (of Q and V for D) differ, and what else differs
/// from the defaults.
std::string shape_of(const BenchCase& item);

}  // namespace fmha_bwd
