#include <fmt/format.h>

#include <functional>

#include "src/report/bench/tables.h"
#include "src/report/numbers.h"

namespace fmha_bwd {
namespace {

struct Field {
  const char* name;
  std::function<std::string(const BenchContext&)> text;
};

/// "1980 MHz"; nothing where it is 0, which stands for unknown.
std::string known(double x, const char* unit) { return x > 0.0 ? exact(x) + " " + unit : ""; }

std::string sampling(const BenchContext& context) {
  if (context.samples) return fmt::format("{} a round", *context.samples);
  return fmt::format("until steady, {} to {} s of device time a case", exact(context.min_seconds),
                     exact(context.max_seconds));
}

const std::vector<Field>& fields() {
  using C = const BenchContext&;
  static const std::vector<Field> all = {
      {"device", [](C c) { return c.device; }},
      {"architecture", [](C c) { return c.arch; }},
      {"platform", [](C c) { return c.platform; }},
      {"emulated", [](C c) { return std::string(c.emulated ? "yes" : "no"); }},
      {"driver", [](C c) { return c.driver; }},
      {"runtime", [](C c) { return c.runtime; }},
      {"multiprocessors",
       [](C c) { return c.multiprocessors > 0 ? fmt::format("{}", c.multiprocessors) : ""; }},
      {"largest clock", [](C c) { return known(c.max_clock_mhz, "MHz"); }},
      {"memory bandwidth", [](C c) { return known(c.memory_gbytes_per_s, "GB/s"); }},
      {"last-level cache", [](C c) { return known(static_cast<double>(c.cache_bytes) / (1 << 20), "MiB"); }},
      {"power cap", [](C c) { return c.power_cap_watts ? exact(*c.power_cap_watts) + " W" : ""; }},
      {"cache state", [](C c) { return c.cache; }},
      {"warm-up", [](C c) { return exact(c.warmup_seconds) + " s before each round"; }},
      {"samples", sampling},
      {"rounds", [](C c) { return fmt::format("{}{}", c.rounds, c.interleaved ? ", interleaved" : ""); }},
      {"telemetry", [](C c) { return c.telemetry; }},
      {"host", [](C c) { return c.host; }},
      {"CPU", [](C c) { return c.cpus > 0 ? fmt::format("{} × {}", c.cpus, c.cpu) : c.cpu; }},
      {"version", [](C c) { return c.version; }},
      {"revision", [](C c) { return c.revision; }},
      {"started", [](C c) { return c.started; }},
      {"command", [](C c) { return c.command; }},
  };
  return all;
}

}  // namespace

ReportTable context_table(const BenchReport& report) {
  std::vector<const NamedRun*> runs;
  for (const NamedRun& run : report.runs) runs.push_back(&run);
  if (report.baseline) runs.push_back(&*report.baseline);
  ReportTable table;
  table.columns.push_back({"field", "", "", Align::left});
  for (const NamedRun* run : runs) {
    const bool is_baseline = report.baseline && run == &*report.baseline;
    table.columns.push_back(
        {"run", is_baseline ? "baseline: " + run->label : run->label, run->file, Align::left});
  }
  for (const Field& field : fields()) {
    std::vector<TableCell> row = {{field.name, {}}};
    for (const NamedRun* run : runs) {
      const std::string text = field.text(run->results.context);
      row.push_back({text.empty() ? kMissing : text, {}});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace fmha_bwd
