// A shared library that pretends to be AMD SMI, with one device at 0001:c1:02.3.
#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace fmha_bwd {

/// What the library answers with; its function fake_amd_smi() gives it.
struct FakeAmdSmi {
  std::set<std::string> failing;  // functions that return 2
  std::uint32_t clock_mhz = 2100;
  std::int64_t temperature = 64;
  std::uint64_t energy_count = 1'000'000;
  std::uint64_t energy_nanoseconds = 0;
  std::uint64_t power_cap = 750'000'000;
  const char* driver = "6.12.12";
  int initialized = 0;
};

}  // namespace fmha_bwd
