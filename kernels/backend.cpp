#include "kernels/backend.h"

#include <array>
#include <sstream>

#include "base/error.h"
#include "kernels/hip_backend.h"

namespace fmha_bwd {
namespace {

struct Entry {
  const char* name;
  const char* architectures;  // comma-separated
  std::vector<Device> (*devices)(std::string& absence);
  std::unique_ptr<Backend> (*open)(int index);
};

// The architectures come from the build; the emulator's are the devices that it presents.
constexpr std::array kEntries = {
#ifdef FMHA_BWD_AMD_ARCHITECTURES
    Entry{"amd", FMHA_BWD_AMD_ARCHITECTURES, amd::devices, amd::open_backend},
#endif
#ifdef FMHA_BWD_NVIDIA_ARCHITECTURES
    Entry{"nvidia", FMHA_BWD_NVIDIA_ARCHITECTURES, nvidia::devices, nvidia::open_backend},
#endif
    Entry{"emulator", "", emulator::devices, emulator::open_backend},
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream stream(list);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

}  // namespace

std::vector<Platform> platforms() {
  std::vector<Platform> all;
  for (const Entry& entry : kEntries) {
    Platform platform;
    platform.name = entry.name;
    platform.architectures = split(entry.architectures);
    platform.devices = entry.devices(platform.absence);
    if (platform.architectures.empty()) {
      for (const Device& device : platform.devices) platform.architectures.push_back(device.arch);
    }
    all.push_back(std::move(platform));
  }
  return all;
}

std::unique_ptr<Backend> open_backend(std::string_view platform, int index) {
  for (const Entry& entry : kEntries) {
    if (entry.name == platform) return entry.open(index);
  }
  throw Error(ExitCode::unsupported,
              "platform '" + std::string(platform) + "' is not built into this program");
}

}  // namespace fmha_bwd
