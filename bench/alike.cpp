#include "bench/alike.h"

#include <fmt/format.h>

#include <algorithm>

namespace fmha_bwd {
namespace {

std::string text_of(const std::string& value) { return fmt::format("'{}'", value); }
std::string text_of(bool value) { return value ? "yes" : "no"; }
std::string text_of(std::int64_t value) { return fmt::format("{}", value); }
std::string text_of(double value) { return fmt::format("{}", value); }
template <class T>
std::string text_of(const std::optional<T>& value) {
  return value ? text_of(*value) : "none";
}

/// Collects what differs.
class Differences {
 public:
  template <class T>
  void add(const std::string& name, const T& one, const T& other) {
    if (one != other) lines_.push_back(fmt::format("{}: {} and {}", name, text_of(one), text_of(other)));
  }
  std::vector<std::string> lines() && { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

bool runs_on_cpu(const BenchContext& context) { return context.platform == "cpu" || context.emulated; }

}  // namespace

std::vector<std::string> unlike_contexts(const BenchContext& one, const BenchContext& other) {
  Differences differences;
  differences.add("platform", one.platform, other.platform);
  differences.add("device", one.device, other.device);
  differences.add("arch", one.arch, other.arch);
  differences.add("driver", one.driver, other.driver);
  differences.add("emulated", one.emulated, other.emulated);
  differences.add("cache state", one.cache, other.cache);
  differences.add("power cap in watts", one.power_cap_watts, other.power_cap_watts);
  differences.add("largest clock in MHz", one.max_clock_mhz, other.max_clock_mhz);
  if (runs_on_cpu(one) || runs_on_cpu(other)) {
    differences.add("CPU", one.cpu, other.cpu);
    differences.add("CPUs", one.cpus, other.cpus);
  }
  return std::move(differences).lines();
}

std::vector<std::string> unlike_settings(const BenchContext& one, const BenchContext& other) {
  Differences differences;
  differences.add("version", one.version, other.version);
  differences.add("revision", one.revision, other.revision);
  differences.add("runtime", one.runtime, other.runtime);
  differences.add("warm-up in seconds", one.warmup_seconds, other.warmup_seconds);
  differences.add("samples", one.samples, other.samples);
  differences.add("least seconds", one.min_seconds, other.min_seconds);
  differences.add("most seconds", one.max_seconds, other.max_seconds);
  differences.add("rounds", one.rounds, other.rounds);
  differences.add("interleaved", one.interleaved, other.interleaved);
  return std::move(differences).lines();
}

std::vector<std::string> unlike_results(const BenchResults& base, const BenchResults& latest) {
  std::vector<std::string> lines = unlike_contexts(base.context, latest.context);
  Differences differences;
  for (const BenchCase& item : latest.cases) {
    const auto before = std::find_if(base.cases.begin(), base.cases.end(),
                                     [&](const BenchCase& other) { return other.name == item.name; });
    // A case that failed may not have come as far as its inputs.
    if (before == base.cases.end() || !before->error.empty() || !item.error.empty()) continue;
    differences.add("fill of " + item.name, before->fill, item.fill);
    differences.add("input checksum of " + item.name, before->input_checksum, item.input_checksum);
  }
  for (std::string& line : std::move(differences).lines()) lines.push_back(std::move(line));
  return lines;
}

}  // namespace fmha_bwd
