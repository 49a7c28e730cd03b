// Copies that a lane starts and waits for later.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "kernels/platform/emulator/matrix_core.h"
#include "kernels/platform/emulator/matrix_units.h"
#include "kernels/platform/emulator/sanitizer.h"
#include "kernels/platform/emulator/workgroup.h"

namespace hip_emulator {

void copy_async(void* shared, const void* global, bool exists, const char* file, int line) {
  const Site site = {"copy_async", file, line};
  require(MatrixUnit::nvidia, site);
  require_shared(shared, site);
  if (exists) {
    require_aligned(global, site);
    if (current_workgroup->shared().concerns(reinterpret_cast<std::uintptr_t>(global))) {
      current_workgroup->fail(site.text() + ": a copy from shared memory", nullptr);
    }
  }
  // It may write from now on, whatever it is that happens later.
  constexpr std::size_t kBytes = 16;
  Lane& lane = *current_lane;
  SharedMemory& memory = current_workgroup->shared();
  const auto address = reinterpret_cast<std::uintptr_t>(shared);
  if (const Fault fault = memory.announce_write(address, kBytes, lane.stamp); fault != Fault::none) {
    std::string what = site.text() + ": ";
    what += memory.describe(fault, address, kBytes, Access::write);
    current_workgroup->fail(std::move(what), nullptr);
  }
  announce_write(shared);
  lane.copies.push_back({shared, global, exists, lane.copy_groups});
}

void copy_async_commit(const char* file, int line) {
  require(MatrixUnit::nvidia, {"copy_async_commit", file, line});
  ++current_lane->copy_groups;
}

bool take_finished_copy(int pending, AsyncCopy& copy) {
  Lane& lane = *current_lane;
  // A copy that is not committed has group copy_groups.
  if (lane.copies.empty() ||
      lane.copies.front().group + static_cast<std::uint32_t>(pending) >= lane.copy_groups) {
    return false;
  }
  copy = lane.copies.front();
  lane.copies.erase(lane.copies.begin());
  return true;
}

}  // namespace hip_emulator
