// Kernels and tables of them that no compiler made.
#pragma once

#include <string>
#include <vector>

#include "src/arch/resources.h"

namespace fmha_bwd {

/// One of NVIDIA's family hopper, with matrix instructions.
inline KernelResources made_up_kernel(const std::string& arch = "sm_90a",
                                      const std::string& name = "dq_dk_dv_kernel<Half, 64>") {
  KernelResources kernel;
  kernel.platform = "nvidia";
  kernel.arch = arch;
  kernel.family = "hopper";
  kernel.kernel = name;
  kernel.vector = 168;
  kernel.spilled = 0;
  kernel.scratch = 0;
  kernel.shared = 1024;
  kernel.waves = 3;
  kernel.matrix = 32;
  kernel.loop = 713;
  return kernel;
}

inline KernelResources made_up_amd_kernel() {
  KernelResources kernel = made_up_kernel("gfx942", "forward_kernel<Half, 64>");
  kernel.platform = "amd";
  kernel.family = "simt";
  kernel.agpr = 16;
  kernel.scalar = 106;
  kernel.scalar_spilled = 84;
  kernel.spilled = 7;
  kernel.scratch = 20;
  kernel.matrix = 0;
  kernel.loop = 0;
  return kernel;
}

inline ResourceTable made_up_table(std::vector<KernelResources> kernels) {
  return {{{"amd", {"gfx942"}, {}}, {"nvidia", {"sm_80", "sm_90a"}, {}}, {"emulator", {"gfx942"}, "no code"}},
          std::move(kernels)};
}

}  // namespace fmha_bwd
