// Timed passes compute what a pass by itself does, from every state of the cache, on every device.
#include "kernels/pass_timer.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "base/mask_spec.h"
#include "tests/kernels/devices.h"

namespace fmha_bwd {
namespace {

using emulator::kMostSets;
using emulator::rotated_sets;

TEST(RotatedSets, TogetherAreTwiceTheCacheAtLeast) {
  constexpr std::int64_t kCache = 50'000'000;
  EXPECT_EQ(rotated_sets(1'000'000, kCache), 100);
  EXPECT_EQ(rotated_sets(999'999, kCache), 101);
  EXPECT_EQ(rotated_sets(1'000'001, kCache), 100);
  EXPECT_EQ(rotated_sets(33'000'000, kCache), 4);
}

TEST(RotatedSets, AreTwoAtLeast) {
  EXPECT_EQ(rotated_sets(std::size_t{1} << 40, 50'000'000), 2);
  EXPECT_EQ(rotated_sets(1'000'000, 0), 2);
}

TEST(RotatedSets, AreLimited) {
  EXPECT_EQ(rotated_sets(1, 50'000'000), kMostSets);
  EXPECT_EQ(rotated_sets(0, 50'000'000), kMostSets);
}

class PassTimer : public testing::TestWithParam<Device> {
 protected:
  PassTimer() : backend_(open_backend(GetParam().platform, GetParam().index)) {
    problem_.batch = 1;
    problem_.nhead_q = problem_.nhead_k = 2;
    problem_.seqlen_q = problem_.seqlen_k = 33;
    problem_.hdim_q = problem_.hdim_v = 16;
    problem_.scale = default_scale(problem_.hdim_q);
    problem_.deterministic = true;
  }

  /// With inputs, O and LSE.
  std::unique_ptr<Session> opened() {
    std::unique_ptr<Session> session = backend_->open(problem_, "simt");
    session->fill_inputs({});
    session->poison_outputs();
    session->forward(kTopLeft);
    return session;
  }

  /// The bits of the gradients after one pass by itself.
  std::vector<HostTensor> expected() {
    const auto session = opened();
    static_cast<void>(session->backward(kTopLeft));
    return gradients(*session);
  }

  std::vector<HostTensor> gradients(Session& session) const {
    std::vector<HostTensor> all;
    for (const TensorId id : gradients_of(problem_)) all.push_back(session.download(id));
    return all;
  }

 private:
  std::unique_ptr<Backend> backend_;
  Problem problem_;
};

TEST_P(PassTimer, PassesBackToBackLeaveTheGradientsOfOne) {
  const std::vector<HostTensor> right = expected();
  for (const CacheState cache : {CacheState::rotate, CacheState::flush, CacheState::warm}) {
    const auto session = opened();
    session->prepare_timing(kTopLeft, cache);
    // Sets take turns from the first one on, which is the session's own.
    EXPECT_GE(session->time_passes(1), 0.0);
    EXPECT_GE(session->time_passes(4), 0.0);
    const std::vector<HostTensor> timed = gradients(*session);
    ASSERT_EQ(timed.size(), right.size());
    for (std::size_t i = 0; i < right.size(); ++i) {
      EXPECT_TRUE(timed[i].bytes == right[i].bytes) << static_cast<int>(cache) << ", gradient " << i;
    }
    EXPECT_TRUE(session->damaged_guards().empty());
  }
}

TEST_P(PassTimer, ReplayedGraphsLeaveTheGradientsOfOnePassWhereThereAreGraphs) {
  const auto session = opened();
  session->prepare_timing(kTopLeft, CacheState::warm);
  const std::optional<double> time = session->time_graph(3);
  EXPECT_EQ(time.has_value(), !GetParam().emulated);
  if (!time) return;
  const std::vector<HostTensor> timed = gradients(*session);
  const std::vector<HostTensor> right = expected();
  for (std::size_t i = 0; i < right.size(); ++i) EXPECT_TRUE(timed[i].bytes == right[i].bytes) << i;
}

TEST_P(PassTimer, TellsTheClockOnNvidiaOverAMillisecondAndMore) {
  const auto session = opened();
  session->prepare_timing(kTopLeft, CacheState::warm);
  EXPECT_EQ(session->clock_mhz(), std::nullopt);  // since when?
  double milliseconds = 0.0;
  while (milliseconds < 2.0) milliseconds += session->time_passes(10);
  const std::optional<double> clock = session->clock_mhz();
  EXPECT_EQ(clock.has_value(), GetParam().platform == "nvidia");
  if (!clock) return;
  EXPECT_GT(*clock, 100.0);
  EXPECT_LT(*clock, 10000.0);
}

TEST_P(PassTimer, NeedsToBePrepared) {
  const auto session = opened();
  EXPECT_THROW(static_cast<void>(session->time_passes(1)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(session->time_graph(1)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(session->clock_mhz()), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(Devices, PassTimer, testing::ValuesIn(devices_to_test()), test_name);

}  // namespace
}  // namespace fmha_bwd
