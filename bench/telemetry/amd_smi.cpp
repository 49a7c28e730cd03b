// AMD SMI's structures grew and changed names from ROCm 6.0 to 7: only what kept its place is used here, as
// the public headers of ROCm 6.0, 6.2 and 7 agree:
//
//     a PCI address       64 bits, passed by value: function 3, device 5, bus 8, domain 48, from the lowest
//     amdsmi_clk_info_t   begins with three 32-bit numbers, in MHz: now, least, most
//     power_cap_info_t    begins with a 64-bit number, the cap in uW (some builds of 6.0: W)
//     driver_info_t       begins with a text, the driver's version (in 6.0: its name, "amdgpu")
//     temperature         its documentation says m°C, its implementation gives °C
//     energy              a count, the uJ of each, and a time in ns
//
// Structures are written into buffers larger than any of them. Power is the energy between two readings over
// the time between them: amdsmi_get_power_info's structure moved its fields, the energy count did not.
// Throttling is not read: amdsmi_get_violation_status came with 6.3, and its structure changes still.
#include "bench/telemetry/amd_smi.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "bench/telemetry/device_library.h"

namespace fmha_bwd {
namespace {

using Status = int;  // amdsmi_status_t
using Processor = void*;

constexpr Status kSuccess = 0;
constexpr std::uint64_t kGpus = 1 << 1;                  // AMDSMI_INIT_AMD_GPUS
constexpr int kGraphicsClock = 0;                        // AMDSMI_CLK_TYPE_GFX
constexpr int kHotspot = 1;                              // AMDSMI_TEMPERATURE_TYPE_HOTSPOT
constexpr int kCurrent = 0;                              // AMDSMI_TEMP_CURRENT
constexpr std::uint64_t kLeastNanoseconds = 50'000'000;  // the counter is renewed each ms or so
constexpr double kMostWatts = 1e5;                       // a larger power cap is in uW
constexpr double kMostDegrees = 1e3;                     // a larger temperature is in m°C

using Buffer = std::array<std::uint64_t, 512>;  // 4 KiB; the largest of the structures has 1 KiB

using Initialize = Status(std::uint64_t flags);
using PlainCall = Status();
using ProcessorAt = Status(std::uint64_t address, Processor*);
using ClockOf = Status(Processor, int kind, void*);
using TemperatureOf = Status(Processor, int place, int metric, std::int64_t*);
using EnergyOf = Status(Processor, std::uint64_t* count, float* microjoules, std::uint64_t* nanoseconds);
using PowerCapOf = Status(Processor, std::uint32_t sensor, void*);
using DriverOf = Status(Processor, void*);
using StatusText = Status(Status, const char**);

/// "0000:c1:00.0", hexadecimal domain:bus:device.function, as AMD SMI packs it. Nothing where it is no such
/// text.
std::optional<std::uint64_t> address_from(const std::string& text) {
  struct Part {
    char end;  // the character after it
    int bits;
    int shift;
  };
  constexpr std::array<Part, 4> kParts = {{{':', 48, 16}, {':', 8, 8}, {'.', 5, 3}, {'\0', 3, 0}}};
  std::uint64_t address = 0;
  const char* at = text.c_str();
  for (const Part& part : kParts) {
    std::uint64_t number = 0;
    const auto [stop, error] = std::from_chars(at, text.c_str() + text.size(), number, 16);
    if (error != std::errc() || *stop != part.end || number >> part.bits != 0) return std::nullopt;
    address |= number << part.shift;
    at = stop + 1;
  }
  return address;
}

/// What a structure's `index`th 32-bit number says; 0, and all bits of 16 or 32 set, are "unknown".
std::optional<double> megahertz(const Buffer& buffer, std::size_t index) {
  std::uint32_t value = 0;
  std::memcpy(&value, reinterpret_cast<const char*>(buffer.data()) + index * sizeof value, sizeof value);
  if (value == 0 || value == std::numeric_limits<std::uint16_t>::max() ||
      value == std::numeric_limits<std::uint32_t>::max()) {
    return std::nullopt;
  }
  return value;
}

class AmdSmiWatch final : public DeviceWatch {
 public:
  /// After amdsmi_init of `library` succeeded.
  AmdSmiWatch(DeviceLibrary library, Processor processor)
      : library_(std::move(library)), processor_(processor) {
    clock_ = library_.function<ClockOf>("amdsmi_get_clock_info");
    temperature_ = library_.function<TemperatureOf>("amdsmi_get_temp_metric");
    energy_of_ = library_.function<EnergyOf>("amdsmi_get_energy_count");
    facts_.library = "amd-smi";
    facts_.driver = driver();
    facts_.power_cap_watts = power_cap();
    if (const auto found = clocks()) facts_.max_clock_mhz = megahertz(*found, 2);
    last_energy_ = energy();
  }

  ~AmdSmiWatch() override {
    if (auto* shut_down = library_.function<PlainCall>("amdsmi_shut_down")) shut_down();
  }

  const DeviceFacts& facts() const override { return facts_; }

  /// Power is the mean of at least 50 ms; absent before that.
  DeviceReading read() override {
    DeviceReading reading;
    if (const auto found = clocks()) reading.clock_mhz = megahertz(*found, 0);
    reading.power_watts = power();
    reading.temperature_c = temperature();
    return reading;
  }

 private:
  struct Energy {
    double joules;
    std::uint64_t nanoseconds;
  };

  std::optional<Buffer> clocks() const {
    Buffer buffer = {};
    if (clock_ == nullptr || clock_(processor_, kGraphicsClock, buffer.data()) != kSuccess) {
      return std::nullopt;
    }
    return buffer;
  }

  std::optional<double> temperature() const {
    std::int64_t found = 0;
    if (temperature_ == nullptr || temperature_(processor_, kHotspot, kCurrent, &found) != kSuccess) {
      return std::nullopt;
    }
    const auto degrees = static_cast<double>(found);
    return degrees > kMostDegrees ? degrees * 1e-3 : degrees;
  }

  std::optional<Energy> energy() const {
    std::uint64_t count = 0;
    std::uint64_t nanoseconds = 0;
    float microjoules = 0.0F;
    if (energy_of_ == nullptr || energy_of_(processor_, &count, &microjoules, &nanoseconds) != kSuccess) {
      return std::nullopt;
    }
    return Energy{static_cast<double>(count) * static_cast<double>(microjoules) * 1e-6, nanoseconds};
  }

  std::optional<double> power() {
    const std::optional<Energy> now = energy();
    if (!now) return std::nullopt;
    const bool follows =
        last_energy_ && now->nanoseconds >= last_energy_->nanoseconds && now->joules >= last_energy_->joules;
    if (follows && now->nanoseconds - last_energy_->nanoseconds < kLeastNanoseconds) return last_power_;
    last_power_ = std::nullopt;
    if (follows) {
      last_power_ = (now->joules - last_energy_->joules) /
                    (static_cast<double>(now->nanoseconds - last_energy_->nanoseconds) * 1e-9);
    }
    last_energy_ = now;
    return last_power_;
  }

  std::optional<double> power_cap() const {
    auto* function = library_.function<PowerCapOf>("amdsmi_get_power_cap_info");
    Buffer buffer = {};
    if (function == nullptr || function(processor_, 0, buffer.data()) != kSuccess || buffer.front() == 0) {
      return std::nullopt;
    }
    const auto cap = static_cast<double>(buffer.front());
    return cap > kMostWatts ? cap * 1e-6 : cap;
  }

  std::string driver() const {
    auto* function = library_.function<DriverOf>("amdsmi_get_gpu_driver_info");
    Buffer buffer = {};
    if (function == nullptr || function(processor_, buffer.data()) != kSuccess) return "";
    std::string version = reinterpret_cast<const char*>(buffer.data());
    return version == "amdgpu" ? "" : version;
  }

  DeviceLibrary library_;
  Processor processor_;
  DeviceFacts facts_;
  ClockOf* clock_ = nullptr;
  TemperatureOf* temperature_ = nullptr;
  EnergyOf* energy_of_ = nullptr;
  std::optional<Energy> last_energy_;
  std::optional<double> last_power_;
};

std::string reason_of(const DeviceLibrary& library, Status status) {
  auto* text = library.function<StatusText>("amdsmi_status_code_to_string");
  const char* found = nullptr;
  if (text == nullptr || text(status, &found) != kSuccess || found == nullptr) {
    return fmt::format("status {}", status);
  }
  return found;
}

}  // namespace

OpenedWatch open_amd_smi(const std::string& pci_bus_id, const std::string& library_path) {
  std::vector<std::string> names = {library_path};
  if (library_path.empty()) names = {"libamd_smi.so", "/opt/rocm/lib/libamd_smi.so"};
  DeviceLibrary library(names);
  if (!library.loaded()) return {nullptr, fmt::format("amd-smi: {}", library.error())};
  auto* initialize = library.function<Initialize>("amdsmi_init");
  auto* processor_at = library.function<ProcessorAt>("amdsmi_get_processor_handle_from_bdf");
  if (initialize == nullptr || processor_at == nullptr) {
    return {nullptr,
            fmt::format("amd-smi: libamd_smi.so lacks {}",
                        initialize == nullptr ? "amdsmi_init" : "amdsmi_get_processor_handle_from_bdf")};
  }
  const std::optional<std::uint64_t> address = address_from(pci_bus_id);
  if (!address) return {nullptr, fmt::format("amd-smi: '{}' is no PCI address", pci_bus_id)};
  if (const Status status = initialize(kGpus); status != kSuccess) {
    return {nullptr, fmt::format("amd-smi: amdsmi_init: {}", reason_of(library, status))};
  }
  Processor processor = nullptr;
  if (const Status status = processor_at(*address, &processor); status != kSuccess) {
    std::string absence = fmt::format("amd-smi: {}: {}", pci_bus_id, reason_of(library, status));
    if (auto* shut_down = library.function<PlainCall>("amdsmi_shut_down")) shut_down();
    return {nullptr, std::move(absence)};
  }
  return {std::make_unique<AmdSmiWatch>(std::move(library), processor), ""};
}

}  // namespace fmha_bwd
