#include "kernels/peak.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace fmha_bwd {
namespace {

/// FLOPs a clock of one multiprocessor or compute unit, an fma being two. Where one architecture is sold with
/// different rates (sm_86, sm_89, sm_120) it is left out, as is gfx11 and gfx12, of which runtimes count
/// multiprocessors differently.
struct Rate {
  std::string_view arch;
  double matrix;  // fp16 and bf16
  double vector;  // fp32
};

// Sources: NVIDIA's A100, H100 and Blackwell architecture white papers; AMD's CDNA 2, 3 and 4 white papers.
constexpr std::array<Rate, 6> kRates = {{
    {"sm_80", 2048, 128},
    {"sm_90", 4096, 256},
    {"sm_100", 8192, 256},
    {"gfx90a", 1024, 128},
    {"gfx942", 2048, 256},
    {"gfx950", 4096, 256},
}};

}  // namespace

double peak_flops(const Device& device, DType dtype) {
  const auto* rate = std::find_if(kRates.begin(), kRates.end(),
                                  [&](const Rate& entry) { return entry.arch == device.arch; });
  if (rate == kRates.end() || device.emulated) return 0.0;
  const double a_clock = dtype == DType::fp32 ? rate->vector : rate->matrix;
  return a_clock * static_cast<double>(device.limits.multiprocessors) * device.limits.max_clock_mhz * 1e6;
}

}  // namespace fmha_bwd
