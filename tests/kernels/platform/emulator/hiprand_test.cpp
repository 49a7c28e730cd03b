// hipRAND's device API: the published numbers, and those of base/random.h.
#include "tests/kernels/platform/emulator/hiprand_kernels.h"

#include "base/random.h"
#include "tests/kernels/platform/emulator/emulator_test.h"

namespace fmha_bwd {
namespace {

using testing::ElementsAre;

class HipRand : public Emulator {
 protected:
  static std::vector<unsigned> drawn(std::uint64_t seed, std::uint64_t subsequence, std::uint64_t offset,
                                     bool at_once, unsigned threads) {
    const DeviceArray<unsigned> out(threads * 4);
    hipLaunchKernelGGL(test_kernels::draw, dim3(1), dim3(threads), 0, nullptr, seed, subsequence, offset,
                       at_once, out.data());
    EXPECT_EQ(objection(), "");
    return out.values();
  }
};

// The known answers of Random123 for philox4x32-10, as far as a seed, a subsequence and an offset reach them.
TEST_F(HipRand, DrawsThePublishedNumbers) {
  for (const bool at_once : {true, false}) {
    EXPECT_THAT(drawn(0, 0, 0, at_once, 1), ElementsAre(0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u));
  }
}

TEST_F(HipRand, DrawsWhatTheBaseDraws) {
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{42}, std::uint64_t{0x123456789abcdef0u}}) {
    for (const std::uint64_t subsequence : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{1} << 40}) {
      for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{1000}, std::uint64_t{1} << 35}) {
        for (const bool at_once : {true, false}) {
          const std::vector<unsigned> actual = drawn(seed, subsequence, offset, at_once, 9);
          for (std::uint64_t thread = 0; thread < 9; ++thread) {
            for (std::uint64_t word = 0; word < 4; ++word) {
              const std::uint64_t position = offset + thread + word;  // most threads start within a quad
              EXPECT_EQ(actual[4 * thread + word], philox_quad(seed, subsequence, position / 4)[position % 4])
                  << seed << " " << subsequence << " " << position << " " << at_once;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace fmha_bwd
