#include <fmt/format.h>

#include <functional>

#include "src/report/bench/tables.h"
#include "src/report/numbers.h"

namespace fmha_bwd {
namespace {

struct Field {
  const char* name;
  bool counts;  // times are not comparable where it differs
  std::function<std::string(const BenchContext&)> text;
};

/// "1980 MHz"; nothing where it is 0, which stands for unknown.
std::string known(double x, const char* unit) { return x > 0.0 ? exact(x) + " " + unit : ""; }

std::string sampling(const BenchContext& context) {
  if (context.samples) return fmt::format("{} a round", *context.samples);
  return fmt::format("until steady, {} to {} s of device time a round", exact(context.min_seconds),
                     exact(context.max_seconds));
}

const std::vector<Field>& fields() {
  using C = const BenchContext&;
  static const std::vector<Field> all = {
      {"device", true, [](C c) { return c.device; }},
      {"architecture", true, [](C c) { return c.arch; }},
      {"platform", true, [](C c) { return c.platform; }},
      {"emulated", true, [](C c) { return std::string(c.emulated ? "yes" : "no"); }},
      {"driver", true, [](C c) { return c.driver; }},
      {"runtime", true, [](C c) { return c.runtime; }},
      {"multiprocessors", true,
       [](C c) { return c.multiprocessors > 0 ? fmt::format("{}", c.multiprocessors) : ""; }},
      {"largest clock", true, [](C c) { return known(c.max_clock_mhz, "MHz"); }},
      {"memory bandwidth", true, [](C c) { return known(c.memory_gbytes_per_s, "GB/s"); }},
      {"last-level cache", true,
       [](C c) { return known(static_cast<double>(c.cache_bytes) / (1 << 20), "MiB"); }},
      {"power cap", true, [](C c) { return c.power_cap_watts ? exact(*c.power_cap_watts) + " W" : ""; }},
      {"cache state", true, [](C c) { return c.cache; }},
      {"warm-up", true, [](C c) { return exact(c.warmup_seconds) + " s before each round"; }},
      {"samples", true, sampling},
      {"rounds", false,
       [](C c) { return fmt::format("{}{}", c.rounds, c.interleaved ? ", interleaved" : ""); }},
      {"telemetry", false, [](C c) { return c.telemetry; }},
      {"host", false, [](C c) { return c.host; }},
      {"CPU", false, [](C c) { return c.cpus > 0 ? fmt::format("{} × {}", c.cpus, c.cpu) : c.cpu; }},
      {"version", false, [](C c) { return c.version; }},
      {"revision", false, [](C c) { return c.revision; }},
      {"started", false, [](C c) { return c.started; }},
      {"command", false, [](C c) { return c.command; }},
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
    std::vector<TableCell> row = {{field.name, field.counts ? std::optional<double>(1.0) : std::nullopt}};
    for (const NamedRun* run : runs) {
      const std::string text = field.text(run->results.context);
      row.push_back({text.empty() ? kMissing : text, {}});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace fmha_bwd
