// A copy from global to shared memory that goes on while its lane does, until the lane waits for it.
#pragma once

#include <cstdint>

namespace hip_emulator {

struct AsyncCopy {
  void* shared = nullptr;
  const void* global = nullptr;
  bool exists = true;       // false: zeros, and global memory is not read
  std::uint32_t group = 0;  // which of the lane's groups it is committed with, from 0
};

}  // namespace hip_emulator
