#include "src/bench/context.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>

#include "reference/parallel.h"
#include "reference/simd/tiles.h"
#include "src/options/values.h"
#include "src/version.h"

namespace fmha_bwd {
namespace {

std::string host_name() {
  std::array<char, 256> name = {};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string now_text() {
  const auto now = std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(now)));
}

void set_device(BenchContext& context, const Device& device) {
  context.platform = device.platform;
  context.device = device.name;
  context.arch = device.arch;
  context.runtime = device.runtime;
  context.emulated = device.emulated;
  context.multiprocessors = device.limits.multiprocessors;
  context.max_clock_mhz = device.limits.max_clock_mhz;
  context.memory_gbytes_per_s = device.limits.memory_gbytes_per_s;
  context.cache_bytes = device.limits.cache_bytes;
}

}  // namespace

std::string command_of(const BenchOptions& options) {
  std::string command = "fmha_bwd bench";
  for (const std::string& word : options.given) command += " " + shell_quoted(word);
  return command;
}

BenchContext context_of(const BenchOptions& options, const Device* device, const DeviceFacts* facts,
                        const std::string& absence) {
  BenchContext context;
  context.version = version();
  context.revision = revision();
  context.command = command_of(options);
  context.started = now_text();
  context.host = host_name();
  context.cpu = cpu_model();
  context.cpus = default_threads();
  context.platform = "cpu";
  context.device = context.cpu;
  context.arch = instruction_set();
  if (device != nullptr) set_device(context, *device);
  context.telemetry = facts == nullptr ? absence : facts->library;
  if (facts != nullptr) {
    context.driver = facts->driver;
    context.power_cap_watts = facts->power_cap_watts;
    if (facts->max_clock_mhz && context.max_clock_mhz == 0.0) context.max_clock_mhz = *facts->max_clock_mhz;
  }
  context.cache = options.on_cpu() ? "warm" : name_of(options.cache);
  context.warmup_seconds = options.warmup_seconds;
  context.samples = options.samples;
  context.min_seconds = options.min_seconds;
  context.max_seconds = options.max_seconds;
  context.rounds = options.rounds;
  context.interleaved = options.interleaved();
  return context;
}

}  // namespace fmha_bwd
