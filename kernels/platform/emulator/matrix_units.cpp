#include "kernels/platform/emulator/matrix_units.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/platform/emulator/workgroup.h"

namespace hip_emulator {
namespace {

constexpr std::uintptr_t kAlignment = 16;

}  // namespace

bool has_unit(const Architecture& architecture, MatrixUnit unit) {
  if (architecture.nvidia) return unit == MatrixUnit::nvidia;
  switch (unit) {
    case MatrixUnit::cdna:
      return architecture.major == 9;
    case MatrixUnit::cdna4:
      return architecture.major == 9 && architecture.minor == 5;
    case MatrixUnit::rdna:
      return architecture.major >= 11;
    case MatrixUnit::rdna3:
      return architecture.major == 11;
    case MatrixUnit::rdna4:
      return architecture.major == 12;
    case MatrixUnit::nvidia:
      break;
  }
  return false;
}

bool flushes_subnormals(const Architecture& architecture) { return architecture.name == "gfx90a"; }

void require(MatrixUnit unit, const Site& site) {
  const Architecture& architecture = *current_workgroup->shape().architecture;
  if (has_unit(architecture, unit)) return;
  current_workgroup->fail(std::string(site.operation) + ": " + std::string(architecture.name) +
                              " has no such instruction, at " + site.file + ":" + std::to_string(site.line),
                          nullptr);
}

void require_whole_wave(MatrixUnit unit, const Site& site) {
  require(unit, site);
  const std::size_t lanes = current_workgroup->shape().lanes();
  const auto wave_size = static_cast<std::size_t>(current_workgroup->shape().architecture->wave_size);
  const std::size_t first = current_lane->wave * wave_size;
  if (lanes - first >= wave_size) return;
  current_workgroup->fail(site.text() + ": the wave has only " + std::to_string(lanes - first) + " of " +
                              std::to_string(wave_size) + " lanes",
                          nullptr);
}

void require_shared(const void* address, const Site& site) {
  if (!current_workgroup->shared().concerns(reinterpret_cast<std::uintptr_t>(address))) {
    current_workgroup->fail(site.text() + ": an address that is not of shared memory", nullptr);
  }
  require_aligned(address, site);
}

void require_aligned(const void* address, const Site& site) {
  const std::uintptr_t over = reinterpret_cast<std::uintptr_t>(address) % kAlignment;
  if (over == 0) return;
  current_workgroup->fail(site.text() + ": an address that is " + std::to_string(over) +
                              " bytes over a multiple of " + std::to_string(kAlignment),
                          nullptr);
}

}  // namespace hip_emulator
