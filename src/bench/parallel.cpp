#include "src/bench/parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>

#include "base/error.h"
#include "bench/merge.h"
#include "bench/results_json.h"
#include "src/bench/children.h"
#include "src/bench/context.h"
#include "src/options.h"
#include "src/options/values.h"
#include "src/report/report.h"

namespace fmha_bwd {
namespace {

namespace fs = std::filesystem;

struct Part {
  fs::path file;
  Child process;
  std::optional<int> code;
};

/// Complete cases in the files so far; a file that is not there yet has none.
std::int64_t cases_done(const std::vector<Part>& parts, std::int64_t rounds) {
  std::int64_t done = 0;
  for (const Part& part : parts) {
    if (!fs::exists(part.file)) continue;
    const BenchResults results = read_results(part.file, "--output");
    done += std::count_if(results.cases.begin(), results.cases.end(), [&](const BenchCase& item) {
      return !item.error.empty() || static_cast<std::int64_t>(item.rounds.size()) >= rounds;
    });
  }
  return done;
}

/// Until all have ended; tells `progress` how many cases are done.
void wait_for(std::vector<Part>& parts, std::int64_t rounds, Progress& progress) {
  constexpr std::chrono::milliseconds kPause(500);
  std::int64_t told = 0;
  const auto runs = [](const Part& part) { return !part.code; };
  while (std::any_of(parts.begin(), parts.end(), runs)) {
    std::this_thread::sleep_for(kPause);
    for (Part& part : parts) {
      if (!part.code) part.code = part.process.ended();
    }
    for (const std::int64_t done = cases_done(parts, rounds); told < done; ++told) progress.step("cases");
  }
}

bool was_killed(const Part& part) { return *part.code >= 128; }

/// "NVIDIA H200 sm_90"; the request itself where no device answers to it.
std::string model_of(const std::string& device, const std::vector<Platform>& platforms) {
  if (device == "cpu") return device;
  const DeviceRequest request = device_request(device);
  for (const Platform& platform : platforms) {
    if (platform.name != request.platform) continue;
    for (const Device& found : platform.devices) {
      if (found.index == request.index.value_or(0)) return found.name + " " + found.arch;
    }
  }
  return device;
}

/// Results are of one kind of device.
void require_alike_devices(const std::vector<std::string>& devices, const std::vector<Platform>& platforms) {
  for (const std::string& device : devices) {
    const std::string first = model_of(devices.front(), platforms);
    const std::string other = model_of(device, platforms);
    if (first == other) continue;
    refuse("--device", fmt::format("{} is '{}' and {} is '{}'; allowed are devices of one kind",
                                   devices.front(), first, device, other));
  }
}

/// What a shard would have of `whole`.
BenchResults part_of(const BenchResults& whole, std::size_t index, std::size_t count) {
  BenchResults part = whole;
  std::erase_if(part.cases, [&](const BenchCase& item) {
    return static_cast<std::size_t>(item.index) % count != index - 1;
  });
  return part;
}

}  // namespace

std::vector<std::string> devices_of(const std::string& device, const std::vector<Platform>& platforms) {
  std::vector<std::string> devices;
  for (const std::string& one : split(device, ',')) {
    if (!one.ends_with(":all")) {
      if (one != "cpu") static_cast<void>(device_request(one));
      devices.push_back(one);
      continue;
    }
    const std::string name = device_request(one.substr(0, one.find(':'))).platform;
    const auto platform = std::find_if(platforms.begin(), platforms.end(),
                                       [&](const Platform& entry) { return entry.name == name; });
    if (platform == platforms.end() || platform->devices.empty()) {
      throw Error(
          ExitCode::unsupported,
          fmt::format("--device: '{}': {}", one,
                      platform == platforms.end() ? "not built into this program" : platform->absence));
    }
    for (const Device& found : platform->devices) devices.push_back(fmt::format("{}:{}", name, found.index));
  }
  require_alike_devices(devices, platforms);
  return devices;
}

BenchResults measure_in_parallel(const BenchOptions& options, const std::vector<std::string>& devices,
                                 std::size_t cases, Progress& progress) {
  const ScratchFolder scratch;
  const fs::path beside =
      options.output.value_or("-") == "-" ? scratch.path() / "results" : fs::path(*options.output);
  const Words words = without(
      options.given,
      {"--device", "--shard", "--output", "--baseline", "--junit", "--markdown", "--alpha", "--max-slowdown"},
      {"--quiet", "--allow-unlike", "--allow-missing"});
  progress.expect(static_cast<std::int64_t>(cases));
  std::optional<BenchResults> before;
  if (options.resume && fs::exists(*options.output)) before = read_results(*options.output, "--resume");
  std::vector<Part> parts;
  const std::size_t used = std::min(devices.size(), std::max<std::size_t>(cases, 1));
  for (std::size_t i = 0; i < used; ++i) {
    const std::size_t index = options.shard.index + options.shard.count * i;
    const std::size_t count = options.shard.count * used;
    fs::path file = beside;
    file += fmt::format(".part{}", i + 1);
    Words own = {"bench"};
    own.insert(own.end(), words.begin(), words.end());
    own.insert(own.end(), {"--device", devices[i], "--shard", fmt::format("{}/{}", index, count), "--output",
                           file.string(), "--quiet"});
    if (!options.resume) fs::remove(file);
    if (before && !fs::exists(file)) write_file(file, results_text(part_of(*before, index, count)));
    parts.push_back({file, Child(this_program(), own), std::nullopt});
  }
  wait_for(parts, options.rounds, progress);

  std::vector<NamedResults> joined;
  for (const Part& part : parts) {
    if (!fs::exists(part.file)) {
      throw Error(was_killed(part) ? ExitCode::device_error : static_cast<ExitCode>(*part.code),
                  fmt::format("the process of '{}' ended with code {}", part.file.string(), *part.code));
    }
    joined.push_back({part.file.string(), read_results(part.file, "--output")});
    if (*part.code != static_cast<int>(exit_code_of(joined.back().results))) {
      throw Error(
          ExitCode::device_error,
          fmt::format("the process of '{}' ended with code {} before it was done; --resume goes on with it",
                      part.file.string(), *part.code));
    }
  }
  BenchResults all = merge(joined);
  all.context.command = command_of(options);
  if (options.output && *options.output != "-") write_file(*options.output, results_text(all));
  for (const Part& part : parts) fs::remove(part.file);
  return all;
}

}  // namespace fmha_bwd
