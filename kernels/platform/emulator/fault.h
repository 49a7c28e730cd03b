// What can be wrong with a memory access of a kernel.
#pragma once

#include <cstdint>

namespace hip_emulator {

enum class Access : std::uint8_t { read, write, atomic };

enum class Fault : std::uint8_t { none, out_of_bounds, unwritten, race };

inline const char* verb(Access access) {
  return access == Access::read ? "read" : (access == Access::write ? "write" : "atomic operation");
}

}  // namespace hip_emulator
