// The emulator sees it when a real kernel lacks a barrier, whichever it is.
#include <functional>

#include "base/error.h"
#include "base/mask_spec.h"
#include "base/problem.h"
#include "kernels/family.h"
#include "kernels/plain/arguments.h"
#include "kernels/simt/launch.h"
#include "tests/kernels/platform/emulator/emulator_test.h"
#include "tests/kernels/platform/emulator/mutation.h"

namespace fmha_bwd {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

/// One family's backward stage 2, without dBias and a dQ of its own.
struct Stage2 {
  const char* family;
  std::vector<const char*> files;  // that its barriers are in
  std::function<void(const Problem&, const emulator::DeviceTensors&)> launch;
};

void launch_simt(const Problem& problem, const emulator::DeviceTensors& tensors) {
  emulator::simt::launch_dq_dk_dv(problem, kNoMask.rule(), tensors, nullptr);
}

void launch_plain(const Problem& problem, const emulator::DeviceTensors& tensors) {
  emulator::plain::launch_dk_dv(emulator::plain::arguments_of(problem, kNoMask.rule(), tensors), nullptr);
}

/// Every __syncthreads() of `stage`.
std::vector<SourceLine> barriers_of(const Stage2& stage) {
  std::vector<SourceLine> found;
  for (const char* file : stage.files) {
    for (const SourceLine& barrier : lines_with("__syncthreads();", KERNELS_FOLDER, file)) {
      found.push_back(barrier);
    }
  }
  return found;
}

/// What the emulator has against `stage` on a small problem; empty where it has nothing.
std::string objection_to(const Stage2& stage) {
  Problem problem;
  problem.batch = problem.nhead_q = problem.nhead_k = 1;
  problem.seqlen_q = 130;  // several tiles of queries
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
    stage.launch(problem, tensors);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class BarrierMutation : public MemoryChecks {
 protected:
  void TearDown() override {
    left_out = {};
    MemoryChecks::TearDown();
  }

  const std::vector<Stage2> stages_ = {{"simt", {"/simt/dq_dk_dv.hip", "/simt/pair.h"}, launch_simt},
                                       {"plain", {"/plain/dk_dv.hip", "/plain/tile.h"}, launch_plain}};
};

TEST_F(BarrierMutation, LeavesNothingToObjectToWhereNoBarrierIsDropped) {
  for (const Stage2& stage : stages_) EXPECT_EQ(objection_to(stage), "") << stage.family;
}

TEST_F(BarrierMutation, IsSeenAtEveryBarrier) {
  for (const Stage2& stage : stages_) {
    ASSERT_GE(barriers_of(stage).size(), 4u) << stage.family;
    for (const auto& seed : {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(7)}) {
      set_settings({.threads = 1, .schedule_seed = seed});
      for (const SourceLine& barrier : barriers_of(stage)) {
        left_out = barrier;
        // Whichever comes first: the first tile's elements may be read before anything is there.
        EXPECT_THAT(objection_to(stage), AnyOf(HasSubstr("race: "), HasSubstr("nothing was written there")))
            << "without " << barrier.file << ":" << barrier.line
            << (seed ? ", in random order" : ", in order");
      }
    }
  }
}

}  // namespace
}  // namespace fmha_bwd
