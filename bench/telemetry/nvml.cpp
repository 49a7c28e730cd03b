// The functions, their numbers and their units are those of NVIDIA's "NVML API Reference Guide". They are
// declared here, since the driver brings the library but not its header.
#include "bench/telemetry/nvml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "bench/telemetry/device_library.h"

namespace fmha_bwd {
namespace {

using Status = int;  // nvmlReturn_t
using Device = void*;

constexpr Status kSuccess = 0;
constexpr int kSmClock = 1;         // NVML_CLOCK_SM
constexpr int kGpuTemperature = 0;  // NVML_TEMPERATURE_GPU

using PlainCall = Status();
using HandleByBusId = Status(const char* pci_bus_id, Device*);
using OfKind = Status(Device, int kind, unsigned*);
using OfDevice = Status(Device, unsigned*);
using ReasonsOf = Status(Device, unsigned long long*);
using Text = Status(char*, unsigned bytes);
using ErrorText = const char*(Status);

struct Reason {
  unsigned long long bit;
  const char* name;
};

// Three bits are left out, since with them the clock is what somebody asked for: idle (0x1), clocks that the
// user set (0x2) and those for a display (0x100). A machine with locked clocks is a good one to measure on;
// that it has them shows in the clock itself. "hardware slowdown" comes with the two after it, or alone.
constexpr std::array<Reason, 6> kReasons = {{{0x4, "power cap"},
                                             {0x8, "hardware slowdown"},
                                             {0x10, "sync boost"},
                                             {0x20, "thermal"},
                                             {0x40, "hardware thermal"},
                                             {0x80, "power brake"}}};

std::vector<std::string> names_of(unsigned long long reasons) {
  std::vector<std::string> names;
  for (const Reason& reason : kReasons) {
    if ((reasons & reason.bit) != 0) names.emplace_back(reason.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<double> scaled(std::optional<unsigned> value, double unit) {
  return value ? std::optional(*value * unit) : std::nullopt;
}

class NvmlWatch final : public DeviceWatch {
 public:
  /// After nvmlInit_v2 of `library` succeeded.
  NvmlWatch(DeviceLibrary library, Device device) : library_(std::move(library)), device_(device) {
    clock_ = library_.function<OfKind>("nvmlDeviceGetClockInfo");
    temperature_ = library_.function<OfKind>("nvmlDeviceGetTemperature");
    power_ = library_.function<OfDevice>("nvmlDeviceGetPowerUsage");
    reasons_ = library_.function<ReasonsOf>("nvmlDeviceGetCurrentClocksEventReasons");
    if (reasons_ == nullptr) {  // drivers before 535
      reasons_ = library_.function<ReasonsOf>("nvmlDeviceGetCurrentClocksThrottleReasons");
    }
    facts_.library = "nvml";
    facts_.driver = driver();
    facts_.power_cap_watts =
        scaled(value(library_.function<OfDevice>("nvmlDeviceGetEnforcedPowerLimit")), 1e-3);
    facts_.max_clock_mhz =
        scaled(value(library_.function<OfKind>("nvmlDeviceGetMaxClockInfo"), kSmClock), 1.0);
  }

  ~NvmlWatch() override {
    if (auto* shut_down = library_.function<PlainCall>("nvmlShutdown")) shut_down();
  }

  const DeviceFacts& facts() const override { return facts_; }

  /// Power of GPUs since Ampere is NVML's average over a second.
  DeviceReading read() override {
    DeviceReading reading;
    reading.clock_mhz = scaled(value(clock_, kSmClock), 1.0);
    reading.power_watts = scaled(value(power_), 1e-3);
    reading.temperature_c = scaled(value(temperature_, kGpuTemperature), 1.0);
    unsigned long long reasons = 0;
    if (reasons_ != nullptr && reasons_(device_, &reasons) == kSuccess) reading.throttle = names_of(reasons);
    return reading;
  }

 private:
  std::optional<unsigned> value(OfDevice* function) const {
    unsigned found = 0;
    if (function == nullptr || function(device_, &found) != kSuccess) return std::nullopt;
    return found;
  }

  std::optional<unsigned> value(OfKind* function, int kind) const {
    unsigned found = 0;
    if (function == nullptr || function(device_, kind, &found) != kSuccess) return std::nullopt;
    return found;
  }

  std::string driver() const {
    std::array<char, 80> text = {};  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
    auto* version = library_.function<Text>("nvmlSystemGetDriverVersion");
    if (version == nullptr || version(text.data(), static_cast<unsigned>(text.size())) != kSuccess) return "";
    return text.data();
  }

  DeviceLibrary library_;
  Device device_;
  DeviceFacts facts_;
  OfKind* clock_ = nullptr;
  OfKind* temperature_ = nullptr;
  OfDevice* power_ = nullptr;
  ReasonsOf* reasons_ = nullptr;
};

std::string reason_of(const DeviceLibrary& library, Status status) {
  auto* text = library.function<ErrorText>("nvmlErrorString");
  const char* found = text != nullptr ? text(status) : nullptr;
  return found != nullptr ? found : fmt::format("status {}", status);
}

}  // namespace

OpenedWatch open_nvml(const std::string& pci_bus_id, const std::string& library_path) {
  const std::array<std::string, 1> names = {library_path.empty() ? "libnvidia-ml.so.1" : library_path};
  DeviceLibrary library(names);
  if (!library.loaded()) return {nullptr, fmt::format("nvml: {}", library.error())};
  auto* initialize = library.function<PlainCall>("nvmlInit_v2");
  auto* handle_of = library.function<HandleByBusId>("nvmlDeviceGetHandleByPciBusId_v2");
  if (initialize == nullptr || handle_of == nullptr) {
    return {nullptr, fmt::format("nvml: {} lacks {}", names.front(),
                                 initialize == nullptr ? "nvmlInit_v2" : "nvmlDeviceGetHandleByPciBusId_v2")};
  }
  if (const Status status = initialize(); status != kSuccess) {
    return {nullptr, fmt::format("nvml: nvmlInit_v2: {}", reason_of(library, status))};
  }
  Device device = nullptr;
  if (const Status status = handle_of(pci_bus_id.c_str(), &device); status != kSuccess) {
    std::string absence = fmt::format("nvml: {}: {}", pci_bus_id, reason_of(library, status));
    if (auto* shut_down = library.function<PlainCall>("nvmlShutdown")) shut_down();
    return {nullptr, std::move(absence)};
  }
  return {std::make_unique<NvmlWatch>(std::move(library), device), ""};
}

}  // namespace fmha_bwd
