// The hopper family against the fp64 reference, on every device that has it.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/kernels/family_test.h"
#include "tests/kernels/score_problems.h"

namespace fmha_bwd {
namespace {

constexpr std::array kTypes = {DType::fp16, DType::bf16};
constexpr std::array<std::int64_t, 2> kHeadDims = {64, 128};

class Hopper : public FamilyTest {
 protected:
  Hopper() : FamilyTest("hopper") {}

  void SetUp() override {
    if (const auto reason = refusal(Problem{})) GTEST_SKIP() << *reason;
  }

  /// Of the device: as many blocks of stage 2 run at a time.
  std::int64_t multiprocessors() const {
    int count = 0;
    EXPECT_EQ(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, GetParam().index), cudaSuccess);
    return count;
  }

  /// As many tiles of 128 keys as there are blocks in a wave, so that no two blocks share one.
  Extents whole_wave(std::int64_t hdim) const {
    return {1, multiprocessors(), multiprocessors(), 300, 100, hdim, hdim};
  }

  /// Ten runs on one session, half of them onto poison and half onto what the run before left.
  template <class Check>
  void expect_right_in_each_run(const Problem& problem, const MaskSpec& mask, const Check& check) {
    const Fill fill = {.seed = 7, .standard_deviation = 1.0F};
    const Reference reference = reference_for(problem, mask, draw_inputs(problem, fill));
    const auto session = opened(problem);
    session->fill_inputs(fill);
    for (int run = 0; run < 10; ++run) {
      const std::string where = "in run " + std::to_string(run) + ", " + description_of(problem, mask);
      if (run % 2 == 0)
        compute(*session, mask);
      else
        session->backward(mask);
      for (const TensorId id : gradients_of(problem)) expect_in_budget(*session, id, reference, where);
      check(*session, where);
    }
    EXPECT_TRUE(session->damaged_guards().empty());
  }

  /// In both types, for both head dimensions, in both layouts, under every mask.
  void expect_right_in_every_form(Extents shape, float standard_deviation) {
    for (const DType dtype : kTypes) {
      for (const std::int64_t hdim : kHeadDims) {
        shape.hdim_q = shape.hdim_v = hdim;
        expect_right(problem_of(shape, dtype), standard_deviation, {Layout::bhsd, Layout::bshd});
      }
    }
  }
};

/// The family chooses its head dimension.
Extents extents(std::int64_t batch, std::int64_t nhead_q, std::int64_t nhead_k, std::int64_t seqlen_q,
                std::int64_t seqlen_k) {
  return {batch, nhead_q, nhead_k, seqlen_q, seqlen_k, 0, 0};
}

TEST_P(Hopper, IsRightAtTheTailsOfItsTiles) {
  for (const std::int64_t seqlen : {1, 63, 65, 127, 129, 1000}) {
    expect_right_in_every_form(extents(1, 2, 2, seqlen, seqlen), 1.0F);
  }
}

TEST_P(Hopper, IsRightWhereQueriesAndKeysDifferInNumber) {
  for (const auto& [seqlen_q, seqlen_k] :
       {std::pair{1023, 1025}, {300, 700}, {700, 300}, {1, 300}, {300, 1}}) {
    expect_right_in_every_form(extents(1, 2, 2, seqlen_q, seqlen_k), 1.0F);
  }
}

TEST_P(Hopper, SumsKeyAndValueGradientsOverTheGroup) {
  expect_right_in_every_form(extents(1, 8, 1, 200, 330), 1.0F);
  expect_right_in_every_form(extents(2, 8, 2, 330, 200), 1.0F);
}

TEST_P(Hopper, SumsOverTheGroupWhereEachBlockOwnsItsTile) {
  const std::int64_t heads = multiprocessors();
  expect_right(problem_of({1, 2 * heads, heads, 300, 100, 128, 128}, DType::bf16), 1.0F);
}

TEST_P(Hopper, KeepsTheHeadsAndTheSequencesOfABatchApart) {
  expect_right_in_every_form(extents(3, 4, 2, 190, 260), 1.0F);
}

TEST_P(Hopper, IsRightWherePIsNearlyUniform) { expect_right_in_every_form(extents(1, 2, 2, 500, 500), 0.1F); }

TEST_P(Hopper, IsRightWherePIsNearlyOneHot) { expect_right_in_every_form(extents(1, 2, 2, 500, 500), 3.0F); }

TEST_P(Hopper, TakesANegativeAndAZeroScale) {
  for (const std::int64_t hdim : kHeadDims) {
    for (const DType dtype : kTypes) {
      for (const float scale : {-0.3F, 0.0F}) {
        Problem problem = problem_of({1, 2, 1, 200, 330, hdim, hdim}, dtype);
        problem.scale = scale;
        expect_right(problem, 1.0F);
      }
    }
  }
}

TEST_P(Hopper, IsRightWithMoreTilesThanRunAtATime) {
  expect_right(problem_of({2, 8, 8, 2048, 2048, 64, 64}, DType::fp16), 1.0F);
}

TEST_P(Hopper, IsRightWithFewerTilesThanMultiprocessors) {
  expect_right(problem_of({1, 1, 1, 4096, 4096, 128, 128}, DType::bf16), 1.0F);
}

TEST_P(Hopper, GivesARowThatSeesNoKeyZerosAndMinusInfinity) {
  for (const std::int64_t hdim : kHeadDims) {
    expect_zeros_in_rows_that_see_no_key(problem_of({1, 1, 1, 700, 300, hdim, hdim}, DType::fp16));
  }
}

TEST_P(Hopper, GivesAKeyThatNoQuerySeesZeroGradients) {
  for (const std::int64_t hdim : kHeadDims) {
    expect_zeros_in_keys_that_no_query_sees(problem_of({1, 1, 1, 300, 700, hdim, hdim}, DType::fp16));
  }
}

TEST_P(Hopper, GivesTheSameBitsInEitherLayout) {
  for (const std::int64_t hdim : kHeadDims) {
    expect_same_bits_in_either_layout(problem_of(whole_wave(hdim), DType::fp16));
  }
}

// A tile of keys that one block walks over alone is summed in one order: dK and dV that move are a race.
TEST_P(Hopper, RepeatsTheBitsOfKeyAndValueGradients) {
  for (const std::int64_t hdim : kHeadDims) {
    const Problem problem = problem_of(whole_wave(hdim), DType::bf16);
    for (const MaskSpec& mask : {kNoMask, kTopLeft}) {
      std::vector<std::byte> dk;
      std::vector<std::byte> dv;
      expect_right_in_each_run(problem, mask, [&](Session& session, const std::string& where) {
        const std::vector<std::byte> new_dk = session.download(TensorId::dk).bytes;
        const std::vector<std::byte> new_dv = session.download(TensorId::dv).bytes;
        if (dk.empty()) {
          dk = new_dk;
          dv = new_dv;
        }
        EXPECT_TRUE(new_dk == dk) << "dK moves " << where;
        EXPECT_TRUE(new_dv == dv) << "dV moves " << where;
      });
    }
  }
}

// Such tiles are few, or those of a last wave that is not whole; their sums are in no order.
TEST_P(Hopper, IsRightInEachRunWhereBlocksShareATileOfKeys) {
  const std::int64_t tiles = multiprocessors() + multiprocessors() / 6;
  for (const std::int64_t hdim : kHeadDims) {
    for (const Extents& shape :
         {Extents{1, 2, 1, 1100, 1100, hdim, hdim}, {1, tiles, tiles, 450, 100, hdim, hdim}}) {
      for (const MaskSpec& mask : {kNoMask, kBottomRight}) {
        expect_right_in_each_run(problem_of(shape, DType::fp16), mask, [](Session&, const std::string&) {});
      }
    }
  }
}

TEST_P(Hopper, IsRightUnderASoftCap) {
  for (const DType dtype : kTypes) {
    for (const std::int64_t hdim : kHeadDims) {
      for (const Problem& problem : soft_capped(problem_of({2, 4, 2, 190, 330, hdim, hdim}, dtype))) {
        expect_right(problem, 1.0F, {Layout::bhsd, Layout::bshd});
      }
    }
  }
}

TEST_P(Hopper, IsRightWithAlibi) {
  for (const DType dtype : kTypes) {
    for (const std::int64_t hdim : kHeadDims) {
      for (const auto& [seqlen_q, seqlen_k] : {std::pair{190, 330}, {330, 190}, {600, 600}}) {
        Problem problem = problem_of({2, 6, 3, seqlen_q, seqlen_k, hdim, hdim}, dtype);
        problem.alibi = true;
        expect_right(problem, 1.0F);
      }
    }
  }
}

TEST_P(Hopper, DropsTheElementsThatTheReferenceDrops) {
  for (const DType dtype : kTypes) {
    for (const std::int64_t hdim : kHeadDims) {
      Problem problem = problem_of({2, 4, 2, 330, 290, hdim, hdim}, dtype);
      for (const Dropout& dropout : {Dropout{0.1F, 99, 123}, Dropout{0.5F, 0x123456789abcdef0U, 0xfffffff0U},
                                     Dropout{0.99F, 7, kMaxDropoutOffset}}) {
        problem.dropout = dropout;
        expect_right(problem, 1.0F, {Layout::bhsd, Layout::bshd});
      }
    }
  }
}

// Two at a time are computed by a kernel for all three, which looks for what there is.
TEST_P(Hopper, IsRightWithAnyTwoThingsThatHappenToScoresAndWithAllThree) {
  for (const DType dtype : kTypes) {
    for (const std::int64_t hdim : kHeadDims) {
      for (int left_out = 0; left_out < 4; ++left_out) {
        Problem problem = problem_of({1, 6, 2, 260, 390, hdim, hdim}, dtype);
        if (left_out != 1) problem.softcap = 3.0F;
        if (left_out != 2) problem.alibi = true;
        if (left_out != 3) problem.dropout = {0.3F, 99, 123};
        expect_right(problem, 1.0F);
      }
    }
  }
}

TEST_P(Hopper, IsRightWhereTheDiagonalIsMovedToEitherSide) {
  for (const char* name : {"top_left:-1,5", "bottom_right:-1,70"}) {
    for (const std::int64_t hdim : kHeadDims) {
      expect_right_under(problem_of({1, 2, 1, 300, 330, hdim, hdim}, DType::bf16), masks_from(name),
                         {.seed = 7, .standard_deviation = 1.0F}, {Layout::bshd});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Device, Hopper, testing::ValuesIn(devices_to_test()), test_name);

}  // namespace
}  // namespace fmha_bwd
