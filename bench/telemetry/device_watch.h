// What a GPU says of its clock, power and temperature, through its vendor's library.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fmha_bwd {

/// At one moment; a value that the library would not give is absent.
struct DeviceReading {
  std::optional<double> clock_mhz;  // of the multiprocessors
  std::optional<double> power_watts;
  std::optional<double> temperature_c;
  std::vector<std::string> throttle;  // why the clock is held down, like "power cap"; sorted, each once
};

/// What does not change while a device is watched.
struct DeviceFacts {
  std::string library;  // "nvml" or "amd-smi"
  std::string driver;   // its version; empty where the library would not give it
  std::optional<double> power_cap_watts;
  std::optional<double> max_clock_mhz;
};

class DeviceWatch {
 public:
  DeviceWatch() = default;
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;
  virtual ~DeviceWatch() = default;

  virtual const DeviceFacts& facts() const = 0;
  /// Takes a fraction of a millisecond to some milliseconds. Of one thread at a time.
  virtual DeviceReading read() = 0;
};

/// A watch, or why there is none: one of the two.
struct OpenedWatch {
  std::unique_ptr<DeviceWatch> watch;
  std::string absence;  // one line that names the library
};

/// Watches the device at `pci_bus_id` ("0000:19:00.0", as the runtime of `platform`, "nvidia" or "amd", gives
/// it) until the watch is destroyed. A library that is absent, or refuses, is an absence, and so is another
/// platform. `library` is its path, where it is not to be searched for.
OpenedWatch open_device_watch(std::string_view platform, const std::string& pci_bus_id,
                              const std::string& library = "");

}  // namespace fmha_bwd
