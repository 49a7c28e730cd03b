#include "src/report/numbers.h"

#include <fmt/format.h>

#include <cmath>

namespace fmha_bwd {

std::string exact(double x) { return fmt::format("{}", x); }
std::string exact(float x) { return fmt::format("{}", x); }

std::string Numbers::scientific(double x) const {
  if (x == 0.0) return "0";
  return full ? exact(x) : fmt::format("{:.3e}", x);
}

std::string Numbers::extent(const Extent& extent) const {
  return fmt::format("[{}, {}]", scientific(extent.min), scientific(extent.max));
}

std::string Numbers::percent(double share, int decimals) const {
  if (!std::isfinite(share)) return exact(share);
  return full ? exact(share * 100.0) + "%" : fmt::format("{:.{}f}%", share * 100.0, decimals);
}

std::string Numbers::milliseconds(double ms) const {
  if (full) return exact(ms);
  return fmt::format("{:.{}f}", ms, ms < 10.0 ? 4 : ms < 100.0 ? 3 : ms < 1000.0 ? 2 : 1);
}

std::string Numbers::rate(double x) const {
  if (full) return exact(x);
  return x < 0.01 ? fmt::format("{:.2e}", x) : fmt::format("{:.4g}", x);
}

}  // namespace fmha_bwd
