// The emulator sees it when a real kernel lacks a barrier, whichever it is.
#include <fstream>

#include "base/error.h"
#include "base/mask_spec.h"
#include "base/problem.h"
#include "kernels/family.h"
#include "kernels/simt/launch.h"
#include "tests/kernels/platform/emulator/dq_dk_dv_mutant.h"
#include "tests/kernels/platform/emulator/emulator_test.h"

namespace fmha_bwd {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

/// Every __syncthreads() of backward stage 2.
std::vector<DroppedBarrier> barriers() {
  std::vector<DroppedBarrier> found;
  for (const char* file : {"/simt/dq_dk_dv.hip", "/simt/pair.h"}) {
    std::ifstream source(std::string(KERNELS_FOLDER) + file);
    std::string text;
    for (int line = 1; std::getline(source, text); ++line) {
      if (text.find("__syncthreads();") != std::string::npos) found.push_back({file, line});
    }
  }
  return found;
}

/// What the emulator has against backward stage 2 on a small problem; empty where it has nothing.
std::string objection_to_dq_dk_dv() {
  Problem problem;
  problem.batch = problem.nhead_q = problem.nhead_k = 1;
  problem.seqlen_q = 130;  // three tiles of queries, one of keys
  problem.seqlen_k = 64;
  problem.hdim_q = problem.hdim_v = 128;  // two parts
  problem.dtype = DType::fp32;
  const std::vector<float> values(130 * 128, 0.125F);
  const DeviceArray<float> q(values);
  const DeviceArray<float> k(values);
  const DeviceArray<float> v(values);
  const DeviceArray<float> d_o(values);
  const DeviceArray<float> lse(values);
  const DeviceArray<float> d(values);
  const DeviceArray<float> dq(values);
  const DeviceArray<float> dk(values);
  const DeviceArray<float> dv(values);
  emulator::DeviceTensors tensors;
  tensors.q = q.data();
  tensors.k = k.data();
  tensors.v = v.data();
  tensors.d_o = d_o.data();
  tensors.lse = lse.data();
  tensors.d = d.data();
  tensors.dq = tensors.dq_acc = dq.data();
  tensors.dk = dk.data();
  tensors.dv = dv.data();
  try {
    emulator::simt::launch_dq_dk_dv(problem, kNoMask.rule(), tensors, nullptr);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class BarrierMutation : public MemoryChecks {
 protected:
  void TearDown() override {
    dropped_barrier = {};
    MemoryChecks::TearDown();
  }
};

TEST_F(BarrierMutation, LeavesNothingToObjectToWhereNoBarrierIsDropped) {
  EXPECT_EQ(objection_to_dq_dk_dv(), "");
}

TEST_F(BarrierMutation, IsSeenAtEveryBarrier) {
  ASSERT_GE(barriers().size(), 8u);
  for (const auto& seed : {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(7)}) {
    set_settings({.threads = 1, .schedule_seed = seed});
    for (const DroppedBarrier& barrier : barriers()) {
      dropped_barrier = barrier;
      // Whichever comes first: the first tile's elements may be read before anything is there.
      EXPECT_THAT(objection_to_dq_dk_dv(), AnyOf(HasSubstr("race: "), HasSubstr("nothing was written there")))
          << "without " << barrier.file << ":" << barrier.line << (seed ? ", in random order" : ", in order");
    }
  }
}

}  // namespace
}  // namespace fmha_bwd
