#include "src/report/bench/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "bench/statistics.h"
#include "src/report/numbers.h"

namespace fmha_bwd {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

TableCell text_cell(const std::string& text) { return {text.empty() ? kMissing : text, {}}; }

/// `text(x)`, where x is a number.
template <class Text>
TableCell number_cell(double x, const Text& text) {
  return std::isfinite(x) ? TableCell{text(x), x} : TableCell{kMissing, {}};
}

TableCell milliseconds(double x) {
  return number_cell(x, [](double ms) { return Numbers().milliseconds(ms); });
}

/// Four significant digits, zeros at the end too, so that a column's points stand below one another.
TableCell rate(double x) {
  return number_cell(x, [](double value) {
    if (value < 0.01) return Numbers().rate(value);
    return fmt::format("{:.{}f}", value, value < 1.0 ? 4 : value < 10.0 ? 3 : value < 100.0 ? 2 : 1);
  });
}

/// Of a share of one; the column has percent in its title.
TableCell percent(const std::optional<double>& share) {
  return number_cell(share.value_or(kNone) * 100.0, [](double x) { return fmt::format("{:.1f}", x); });
}

TableCell whole(double x) {
  return number_cell(x, [](double value) { return fmt::format("{:.0f}", value); });
}

/// The fastest and the slowest round; sorts by how far they are apart.
TableCell spread_of(const BenchCase& item) {
  std::vector<double> times;
  for (const Round& round : item.rounds) times.push_back(time_of(round));
  if (times.empty()) return {kMissing, {}};
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  return number_cell(*most / *least - 1.0, [&, low = *least, high = *most](double) {
    return fmt::format("{} … {}", Numbers().milliseconds(low), Numbers().milliseconds(high));
  });
}

TableCell rounds_of(const BenchCase& item) {
  const std::int64_t throttled = throttled_rounds(item);
  const auto count = static_cast<double>(item.rounds.size());
  if (throttled == 0) return {fmt::format("{:.0f}", count), count};
  return {fmt::format("{:.0f} ({} throttled)", count, throttled), count};
}

double clock_of(const BenchCase& item) {
  std::vector<double> clocks;
  for (const Round& round : item.rounds) {
    if (round.telemetry.clock_mhz) clocks.push_back(*round.telemetry.clock_mhz);
  }
  return median(std::move(clocks));
}

std::string pair_text(char letter, std::int64_t a, std::int64_t b) {
  return a == b ? fmt::format("{}{}", letter, a) : fmt::format("{}{}/{}", letter, a, b);
}

std::vector<TableCell> case_row(const BenchCase& item, const BenchContext& context) {
  const double ms = time_of(item);
  const Rates rates = rates_of(item, context, ms);
  return {text_cell(item.name),
          text_cell(item.mask),
          text_cell(item.dtype),
          text_cell(shape_of(item)),
          text_cell(item.kernel),
          milliseconds(ms),
          spread_of(item),
          rounds_of(item),
          rate(rates.tflops),
          rate(rates.tflops_dense),
          rate(rates.gbytes_per_s),
          percent(std::isfinite(ms) ? rates.peak : std::nullopt),
          percent(std::isfinite(ms) ? rates.roofline : std::nullopt),
          milliseconds(single_time_of(item)),
          milliseconds(graph_time_of(item)),
          whole(clock_of(item)),
          text_cell(item.error.empty() ? item.verification : item.error)};
}

std::vector<TableCell> compared_row(const ComparedCase& item) {
  const auto ratio = [](double x) {
    return number_cell(x, [](double value) { return fmt::format("{:.4f}", value); });
  };
  return {text_cell(item.name),   milliseconds(item.base_ms),      milliseconds(item.new_ms),
          ratio(item.ratio),      ratio(item.low.value_or(kNone)), ratio(item.high.value_or(kNone)),
          text_cell(item.verdict)};
}

/// With `columns`, where there are several runs a second one for the run's label.
ReportTable table_of(const BenchReport& report, std::vector<TableColumn> columns) {
  if (report.runs.size() > 1) columns.insert(columns.begin() + 1, {"run", "Run", "its label", Align::left});
  return {std::move(columns), {}};
}

void add_row(ReportTable& table, const BenchReport& report, std::size_t run, std::vector<TableCell> row) {
  if (report.runs.size() > 1) row.insert(row.begin() + 1, text_cell(report.runs[run].label));
  table.rows.push_back(std::move(row));
}

/// Takes out the column `key` where none of its cells has anything.
void drop_if_empty(ReportTable& table, const std::string& key) {
  const auto column = std::find_if(table.columns.begin(), table.columns.end(),
                                   [&](const TableColumn& one) { return one.key == key; });
  const std::ptrdiff_t place = column - table.columns.begin();
  const bool empty = std::all_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
    return row[static_cast<std::size_t>(place)].text == kMissing;
  });
  if (!empty) return;
  table.columns.erase(column);
  for (auto& row : table.rows) row.erase(row.begin() + place);
}

}  // namespace

std::string shape_of(const BenchCase& item) {
  std::string shape = fmt::format("B{} {} ", item.batch, pair_text('H', item.nhead_q, item.nhead_k));
  if (!item.seqlens_q.empty()) shape += "group ≤ ";
  shape += pair_text('S', item.seqlen_q, item.seqlen_k) + " " + pair_text('D', item.hdim_q, item.hdim_v);
  return item.extras.empty() ? shape : shape + " " + item.extras;
}

ReportTable cases_table(const BenchReport& report) {
  ReportTable table = table_of(
      report, {{"name", "Case", "identifies the problem in every run", Align::left},
               {"mask", "Mask", "which keys a query sees", Align::left},
               {"dtype", "Type", "of Q, K, V, dO and the gradients", Align::left},
               {"shape", "Shape", "batch, heads, sequence length and head dimension", Align::left},
               {"kernel", "Kernel", "the family that computed it", Align::left},
               {"ms", "ms", "milliseconds of one pass: the median over the rounds"},
               {"spread", "ms, min … max", "of the fastest and the slowest round; sorts by their ratio"},
               {"rounds", "Rounds", "visits to the case"},
               {"tflops", "TFLOPS", "1e12 operations a second over the visible pairs"},
               {"dense", "TFLOPS dense", "over all pairs, as if nothing were masked"},
               {"gbytes", "GB/s", "1e9 bytes a second, of the least that a pass has to move"},
               {"peak", "% peak", "of the device's peak in this type"},
               {"roofline", "% roofline", "of what peak and memory bandwidth allow"},
               {"single", "single ms", "one pass by itself on an idle device"},
               {"graph", "graph ms", "a pass of a replayed graph"},
               {"clock", "MHz", "effective clock: the median over the rounds"},
               {"verification", "Verified", "how the results were verified, or the error", Align::left}});
  for (std::size_t run = 0; run < report.runs.size(); ++run) {
    const BenchResults& results = report.runs[run].results;
    for (const BenchCase& item : results.cases) {
      add_row(table, report, run, case_row(item, results.context));
    }
  }
  return table;
}

ReportTable comparison_table(const BenchReport& report) {
  ReportTable table = table_of(report, {{"name", "Case", "identifies the problem in every run", Align::left},
                                        {"base_ms", "baseline ms", "the median over the baseline's rounds"},
                                        {"new_ms", "new ms", "the median over the run's rounds"},
                                        {"ratio", "new / baseline", "of the times: above 1 is slower"},
                                        {"low", "from", "lower end of the ratio's interval"},
                                        {"high", "to", "upper end of the ratio's interval"},
                                        {"verdict", "Verdict", "what the comparison comes to", Align::left}});
  for (const ComparedCase& item : report.compared) add_row(table, report, item.run, compared_row(item));
  for (const char* key : {"low", "high", "verdict"}) drop_if_empty(table, key);
  return table;
}

}  // namespace fmha_bwd
