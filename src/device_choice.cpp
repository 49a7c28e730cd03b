#include "src/device_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/emulator_stats.h"
#include "src/options.h"

namespace fmha_bwd {
namespace {

/// sm_90a is code for a device that calls itself sm_90.
bool is_of(const Device& device, const std::optional<std::string>& arch) {
  return !arch || device.arch == *arch || device.arch + "a" == *arch || device.arch == *arch + "a";
}

const Device* first_of(const Platform& platform, const std::optional<std::string>& arch) {
  const auto found = std::find_if(platform.devices.begin(), platform.devices.end(),
                                  [&](const Device& device) { return is_of(device, arch); });
  return found == platform.devices.end() ? nullptr : &*found;
}

const Platform* platform_named(std::string_view name, const std::vector<Platform>& platforms) {
  const auto found = std::find_if(platforms.begin(), platforms.end(),
                                  [&](const Platform& platform) { return platform.name == name; });
  return found == platforms.end() ? nullptr : &*found;
}

const Platform& emulator_of(const std::vector<Platform>& platforms) {
  const Platform* emulator = platform_named("emulator", platforms);
  if (emulator == nullptr || emulator->devices.empty()) {
    throw Error(ExitCode::unsupported, "no device answers and the emulator is not built in");
  }
  return *emulator;
}

/// "no GPU answers: nvidia: no CUDA-capable device is detected".
std::string why_no_gpu(const std::vector<Platform>& platforms, const std::optional<std::string>& arch) {
  std::vector<std::string> reasons;
  for (const Platform& platform : platforms) {
    if (platform.name == "emulator") continue;
    if (platform.devices.empty()) {
      reasons.push_back(fmt::format("{}: {}", platform.name, platform.absence));
    } else {
      reasons.push_back(fmt::format("{}: {}", platform.name, platform.devices.front().arch));
    }
  }
  const std::string subject = arch ? fmt::format("no {} GPU answers", *arch) : "no GPU answers";
  if (reasons.empty()) return subject + ": no GPU platform is built in";
  return fmt::format("{}: {}", subject, fmt::join(reasons, "; "));
}

const Device& emulated(const Platform& emulator, const std::optional<std::string>& arch) {
  if (const Device* device = first_of(emulator, arch)) return *device;
  throw Error(ExitCode::bad_usage, fmt::format("--arch: '{}' is not an architecture that a device has or the "
                                               "emulator knows; one of {}",
                                               *arch, fmt::join(emulator.architectures, ", ")));
}

DeviceChoice choose_any(const std::optional<std::string>& arch, const std::vector<Platform>& platforms) {
  for (const Platform& platform : platforms) {
    if (platform.name == "emulator") continue;
    if (const Device* device = first_of(platform, arch)) {
      return {platform.name, device->index,
              arch ? fmt::format("the first {} GPU", *arch) : "the first GPU that answers"};
    }
  }
  const Device& device = emulated(emulator_of(platforms), arch);
  return {"emulator", device.index, why_no_gpu(platforms, arch)};
}

const Device& at_index(const Platform& platform, int index) {
  if (index < 0 || static_cast<std::size_t>(index) >= platform.devices.size()) {
    throw Error(ExitCode::bad_usage, fmt::format("--device: {}:{} does not exist; allowed is 0..{}",
                                                 platform.name, index, platform.devices.size() - 1));
  }
  return platform.devices[static_cast<std::size_t>(index)];
}

}  // namespace

DeviceChoice choose_device(const std::string& device, const std::optional<std::string>& arch,
                           const std::vector<Platform>& platforms) {
  const DeviceRequest request = device_request(device);
  if (request.platform == "auto") return choose_any(arch, platforms);

  const Platform* platform = platform_named(request.platform, platforms);
  if (platform == nullptr) {
    std::vector<std::string> built;
    for (const Platform& entry : platforms) built.push_back(entry.name);
    throw Error(ExitCode::unsupported,
                fmt::format("--device: '{}' is not built into this program, which has {}", request.platform,
                            fmt::join(built, ", ")));
  }
  if (platform->devices.empty()) {
    throw Error(ExitCode::unsupported,
                fmt::format("--device: no {} device answers: {}", platform->name, platform->absence));
  }
  if (request.index) {
    const Device& chosen = at_index(*platform, *request.index);
    if (!is_of(chosen, arch)) {
      throw Error(ExitCode::unsupported,
                  fmt::format("--arch: '{}', but --device {} is {}", *arch, device, chosen.arch));
    }
    return {platform->name, *request.index, "asked for"};
  }
  if (platform->name == "emulator") return {platform->name, emulated(*platform, arch).index, "asked for"};
  if (const Device* chosen = first_of(*platform, arch)) return {platform->name, chosen->index, "asked for"};
  throw Error(ExitCode::unsupported, fmt::format("--arch: '{}', but {} has {}", *arch, platform->name,
                                                 platform->devices.front().arch));
}

void check_emulator_stats(const DeviceChoice& choice) {
  if (choice.platform != "emulator") {
    throw Error(ExitCode::bad_usage,
                fmt::format("--emulator-stats: not counted on {}:{}, {}; allowed with --device emulator",
                            choice.platform, choice.index, choice.reason));
  }
  if (!has_emulator_stats()) {
    throw Error(ExitCode::unsupported,
                "--emulator-stats: this program is built with ThreadSanitizer, and its emulator does not see "
                "accesses; allowed in any other build");
  }
}

}  // namespace fmha_bwd
