// What the tests of the families on matrix cores share: which family a device has, on which devices they
// run, and which of them are for all of a list.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/kernels/family_test.h"

namespace fmha_bwd {

/// The family of an architecture's matrix cores, whether or not it has any.
inline std::string matrix_family_of(const std::string& arch) {
  if (!arch.starts_with("gfx")) return "mma";
  return arch.starts_with("gfx11") || arch.starts_with("gfx12") ? "rdna" : "cdna";
}

inline std::vector<Device> matrix_devices() {
  std::vector<Device> all;
  for (const Platform& platform : platforms()) {
    all.insert(all.end(), platform.devices.begin(), platform.devices.end());
  }
  return all;
}

class MatrixTest : public FamilyTest {
 protected:
  MatrixTest() : FamilyTest(matrix_family_of(GetParam().arch)) {}

  void SetUp() override {
    const auto reason = refusal(small_of(DType::bf16));
    if (reason && !GetParam().emulated) GTEST_SKIP() << *reason;
    ASSERT_EQ(reason, std::nullopt);
  }

  static Problem small_of(DType dtype) { return problem_of({1, 1, 1, 16, 16, 64, 64}, dtype); }

  /// One emulated architecture of each unit (kernels/*/unit.h) has the long lists, and so has every GPU.
  /// sm_90a is as sm_80 but for kernels/mma/role_dq_dk_dv.h, of head dimensions from 72 to 128.
  static bool takes_all() {
    const Device& device = GetParam();
    return !device.emulated ||
           (device.arch != "gfx90a" && device.arch != "gfx950" && device.arch != "sm_90a");
  }
  /// All of `list`, or its first `few`.
  template <class T>
  static std::vector<T> some_of(const std::vector<T>& list, std::size_t few) {
    if (takes_all() || list.size() <= few) return list;
    return {list.begin(), list.begin() + static_cast<std::ptrdiff_t>(few)};
  }

  static constexpr std::array kTypes = {DType::fp16, DType::bf16};
};

}  // namespace fmha_bwd
