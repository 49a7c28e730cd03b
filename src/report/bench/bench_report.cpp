#include "src/report/bench/bench_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>

#include "bench/alike.h"
#include "bench/compare.h"

namespace fmha_bwd {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::string device_of(const NamedRun& run) {
  const BenchContext& context = run.results.context;
  return context.device.empty() ? context.platform : context.device;
}

std::string revision_of(const NamedRun& run) { return run.results.context.revision; }

std::string device_and_revision_of(const NamedRun& run) {
  return fmt::format("{} @ {}", device_of(run), revision_of(run));
}

std::string all_of(const NamedRun& run) {
  return fmt::format("{} ({})", device_and_revision_of(run), run.file);
}

/// Whether the label tells all of `runs` apart.
bool tells_apart(std::string (*label)(const NamedRun&), const std::vector<NamedRun*>& runs) {
  std::set<std::string> labels;
  for (const NamedRun* run : runs) labels.insert(label(*run));
  return labels.size() == runs.size();
}

/// The names of what differs between the first run and any other, or the baseline, and counts.
std::vector<std::string> differences(const BenchReport& report) {
  std::vector<std::string> names;
  const auto add = [&](const NamedRun& run) {
    for (const std::string& line :
         unlike_contexts(report.runs.front().results.context, run.results.context)) {
      const std::string name = line.substr(0, line.find(':'));
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  };
  for (const NamedRun& run : report.runs) add(run);
  if (report.baseline) add(*report.baseline);
  return names;
}

void warn_of_throttling(const NamedRun& run, std::vector<std::string>& warnings) {
  std::size_t rounds = 0;
  std::int64_t throttled = 0;
  for (const BenchCase& item : run.results.cases) {
    rounds += item.rounds.size();
    throttled += throttled_rounds(item);
  }
  if (throttled == 0) return;
  warnings.push_back(fmt::format("{}: the device was throttled in {} of {} rounds; their times are in doubt.",
                                 run.label, throttled, rounds));
}

}  // namespace

void add_labels(BenchReport& report) {
  std::vector<NamedRun*> runs;
  for (NamedRun& run : report.runs) runs.push_back(&run);
  if (report.baseline) runs.push_back(&*report.baseline);
  auto* label = all_of;
  for (auto* shorter : {device_and_revision_of, revision_of, device_of}) {
    if (tells_apart(shorter, runs)) label = shorter;
  }
  for (NamedRun* run : runs) run->label = label(*run);
  if (!report.title.empty()) return;
  std::vector<std::string> devices;
  for (const NamedRun& run : report.runs) {
    const std::string device = device_of(run);
    if (std::find(devices.begin(), devices.end(), device) == devices.end()) devices.push_back(device);
  }
  report.title = fmt::format("Attention backward on {}", fmt::join(devices, ", "));
}

std::vector<ComparedCase> beside_baseline(const BenchReport& report) {
  std::vector<ComparedCase> compared;
  if (!report.baseline) return compared;
  const BenchResults& base = report.baseline->results;
  for (std::size_t run = 0; run < report.runs.size(); ++run) {
    const BenchResults& results = report.runs[run].results;
    const bool alike = unlike_results(base, results).empty();
    for (const CaseComparison& item : compare(base, results).cases) {
      ComparedCase& one = compared.emplace_back();
      one.run = run;
      one.name = item.name;
      one.base_ms = item.base_ms.value_or(kNone);
      one.new_ms = item.latest_ms.value_or(kNone);
      one.ratio = item.effect ? item.effect->time.value : one.new_ms / one.base_ms;
      if (item.effect) one.low = item.effect->time.interval.low;
      if (item.effect) one.high = item.effect->time.interval.high;
      const bool on_both = item.base_ms && item.latest_ms;
      if (alike || !on_both) one.verdict = name_of(item.verdict);
    }
  }
  return compared;
}

std::int64_t throttled_rounds(const BenchCase& item) {
  return std::count_if(item.rounds.begin(), item.rounds.end(),
                       [](const Round& round) { return round.throttled; });
}

std::vector<std::string> warnings_of(const BenchReport& report) {
  std::vector<std::string> warnings;
  for (const NamedRun& run : report.runs) {
    if (run.results.context.emulated) {
      warnings.push_back(fmt::format(
          "{}: emulated on a CPU; its times say nothing about the time on the device.", run.label));
    }
    warn_of_throttling(run, warnings);
  }
  const std::vector<std::string> names = differences(report);
  if (!names.empty()) {
    warnings.push_back(
        fmt::format("The runs differ in {}; their times are not comparable.", fmt::join(names, ", ")));
  }
  return warnings;
}

}  // namespace fmha_bwd
