// The architectures that the emulator can be, each one of its devices.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hip_emulator {

struct Architecture {
  std::string_view name;
  int major;
  int minor;
  int wave_size;
  std::size_t shared_bytes;          // that one workgroup can have
  std::size_t default_shared_bytes;  // that it can have without hipFuncSetAttribute
  bool nvidia;                       // whose limits of a grid hold
};

// The first is the default device.
inline constexpr std::array<Architecture, 7> kArchitectures = {{
    {"gfx942", 9, 4, 64, 64 * 1024, 64 * 1024, false},
    {"gfx90a", 9, 0, 64, 64 * 1024, 64 * 1024, false},
    {"gfx950", 9, 5, 64, 160 * 1024, 160 * 1024, false},
    {"gfx1100", 11, 0, 32, 64 * 1024, 64 * 1024, false},
    {"gfx1201", 12, 0, 32, 64 * 1024, 64 * 1024, false},
    {"sm_80", 8, 0, 32, 163 * 1024, 48 * 1024, true},
    {"sm_90a", 9, 0, 32, 227 * 1024, 48 * 1024, true},
}};

inline constexpr std::size_t kMaxSharedBytes = 227 * 1024;
inline constexpr std::size_t kMaxWaveSize = 64;
inline constexpr std::size_t kMaxWorkgroupSize = 1024;

}  // namespace hip_emulator
