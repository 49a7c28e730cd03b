// A shared library that pretends to be NVML, with one device at 0000:19:00.0.
#pragma once

#include <set>
#include <string>

namespace fmha_bwd {

/// What the library answers with, and what it was asked; its function fake_nvml() gives it.
struct FakeNvml {
  std::set<std::string> failing;  // functions that return 999
  unsigned long long reasons = 0;
  int initialized = 0;  // nvmlInit_v2 less nvmlShutdown
};

}  // namespace fmha_bwd
