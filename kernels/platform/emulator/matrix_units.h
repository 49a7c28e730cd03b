// Which architectures have the instructions of matrix_core.h, and what the lane that runs must bring to them.
#pragma once

#include "kernels/platform/emulator/architecture.h"
#include "kernels/platform/emulator/lane.h"

namespace hip_emulator {

/// Instructions that come together. An architecture can have several.
enum class MatrixUnit { cdna, cdna4, rdna, rdna3, rdna4, nvidia };

bool has_unit(const Architecture& architecture, MatrixUnit unit);

/// Whether matrix instructions take subnormal elements for zero, and give zero for subnormal results.
bool flushes_subnormals(const Architecture& architecture);

// They fail the launch where the lane that runs cannot do the instruction at `site`: for want of it,
void require(MatrixUnit unit, const Site& site);
/// or of some of its wave,
void require_whole_wave(MatrixUnit unit, const Site& site);
/// or because `address` is not of shared memory or not a multiple of 16.
void require_shared(const void* address, const Site& site);
/// or because `address` is not a multiple of 16.
void require_aligned(const void* address, const Site& site);

}  // namespace hip_emulator
