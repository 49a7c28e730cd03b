// The architectures that the emulator can be, each one of its devices.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace hip_emulator {

struct Architecture {
  std::string_view name;
  int wave_size;
  std::size_t shared_bytes;  // that one workgroup can have
};

// The first is the default device.
inline constexpr std::array<Architecture, 7> kArchitectures = {{
    {"gfx942", 64, 64 * 1024},
    {"gfx90a", 64, 64 * 1024},
    {"gfx950", 64, 160 * 1024},
    {"gfx1100", 32, 64 * 1024},
    {"gfx1201", 32, 64 * 1024},
    {"sm_80", 32, 163 * 1024},
    {"sm_90a", 32, 227 * 1024},
}};

inline constexpr std::size_t kMaxSharedBytes = 227 * 1024;
inline constexpr int kMaxWorkgroupSize = 1024;

}  // namespace hip_emulator
