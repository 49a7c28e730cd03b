#include "src/report/bench/run_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "bench/statistics.h"
#include "src/report/columns.h"
#include "src/report/numbers.h"

namespace fmha_bwd {
namespace {

constexpr const char* kNothing = "—";

Cell cell(double x, const std::string& text, Style style = Style::plain) {
  return std::isfinite(x) ? Cell{text, style} : Cell{kNothing, Style::dim};
}

Cell milliseconds(double ms, Style style = Style::plain) {
  return cell(ms, Numbers{}.milliseconds(ms), style);
}

Cell percent(const std::optional<double>& share) {
  return share ? cell(*share, Numbers{}.percent(*share, 1)) : Cell{kNothing, Style::dim};
}

/// "1690 MHz", the median over rounds.
Cell clock(const BenchCase& item) {
  std::vector<double> clocks;
  for (const Round& round : item.rounds) {
    if (round.telemetry.clock_mhz) clocks.push_back(*round.telemetry.clock_mhz);
  }
  const double mhz = median(std::move(clocks));
  return cell(mhz, fmt::format("{:.0f}", mhz));
}

/// "1 round", "2 rounds".
std::string counted(std::int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// How the rounds ended where not all samples were good.
std::string remarks(const BenchCase& item) {
  std::int64_t slow = 0;
  std::int64_t out_of_time = 0;
  std::int64_t throttled = 0;
  std::set<std::string> reasons;
  for (const Round& round : item.rounds) {
    slow += round.slow_clock;
    out_of_time += round.stopped == "time is out" ? 1 : 0;
    throttled += round.throttled ? 1 : 0;
    reasons.insert(round.telemetry.throttle.begin(), round.telemetry.throttle.end());
  }
  std::vector<std::string> parts;
  if (throttled > 0) parts.push_back(fmt::format("{} throttled", counted(throttled, "round")));
  if (slow > 0) parts.push_back(fmt::format("{} of a slow clock discarded", counted(slow, "sample")));
  if (out_of_time > 0) parts.push_back(fmt::format("time was out in {}", counted(out_of_time, "round")));
  if (!reasons.empty()) parts.push_back(fmt::format("{}", fmt::join(reasons, ", ")));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::vector<Cell> row(const BenchCase& item, const BenchContext& context) {
  if (!item.error.empty()) {
    std::vector<Cell> cells = {{item.name}};
    for (int i = 0; i < 9; ++i) cells.push_back({kNothing, Style::dim});
    cells.push_back({item.error, Style::bad});
    return cells;
  }
  std::vector<double> times;
  for (const Round& round : item.rounds) times.push_back(time_of(round));
  const double time = time_of(item);
  const Rates rates = rates_of(item, context, time);
  std::string range = kNothing;
  if (!times.empty()) {
    const auto [least, most] = std::minmax_element(times.begin(), times.end());
    range = fmt::format("{}..{}", Numbers{}.milliseconds(*least), Numbers{}.milliseconds(*most));
  }
  return {{item.name},
          milliseconds(time, Style::strong),
          {range},
          milliseconds(single_time_of(item)),
          milliseconds(graph_time_of(item)),
          cell(rates.tflops, Numbers{}.rate(rates.tflops), Style::strong),
          cell(rates.gbytes_per_s, Numbers{}.rate(rates.gbytes_per_s)),
          percent(rates.peak),
          percent(rates.roofline),
          clock(item),
          {remarks(item)}};
}

std::string head(const BenchContext& context) {
  std::string text = fmt::format("fmha_bwd {} ({})\n", context.version, context.revision);
  text += fmt::format("  device    {}  {}  {}\n", context.platform, context.device, context.arch);
  if (!context.driver.empty() || !context.runtime.empty()) {
    text += fmt::format("  driver    {}  {}\n", context.driver, context.runtime);
  }
  text += fmt::format("  sampling  {} rounds of each case{}, cache {}, {}\n", context.rounds,
                      context.interleaved ? " in random order" : "", context.cache,
                      context.samples
                          ? fmt::format("{} samples a round", *context.samples)
                          : fmt::format("{:g} to {:g} s a case", context.min_seconds, context.max_seconds));
  if (context.emulated)
    text += "  These are times of the emulator on this CPU; they say nothing about a GPU.\n";
  return text + "\n";
}

}  // namespace

std::string run_table(const BenchResults& results, bool colour) {
  Columns columns({{"case", Align::left},
                   {"ms"},
                   {"rounds"},
                   {"single"},
                   {"graph"},
                   {"TFLOPS"},
                   {"GB/s"},
                   {"of peak"},
                   {"of roofline"},
                   {"MHz"},
                   {"", Align::left}});
  for (const BenchCase& item : results.cases) columns.add(row(item, results.context));
  return head(results.context) + columns.text(colour) +
         painted("  ms of one pass: back to back, by itself, and replayed as a graph\n", Style::dim, colour);
}

}  // namespace fmha_bwd
