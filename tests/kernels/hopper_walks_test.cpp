// The walks of the hopper family's stage 2: one after another in a block, shared, in order, and with errands.
#include <gtest/gtest.h>

#include "base/sequences.h"
#include "tests/kernels/hopper_family_test.h"

namespace fmha_bwd {
namespace {

class HopperWalks : public HopperTest {
 protected:
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
};

TEST_P(HopperWalks, IsRightWithMoreTilesThanRunAtATime) {
  expect_right(problem_of({2, 8, 8, 2048, 2048, 64, 64}, DType::fp16), 1.0F);
}

TEST_P(HopperWalks, IsRightWithFewerTilesThanMultiprocessors) {
  expect_right(problem_of({1, 1, 1, 4096, 4096, 128, 128}, DType::bf16), 1.0F);
}

// A tile of keys that one block walks over alone is summed in one order: dK and dV that move are a race.
TEST_P(HopperWalks, RepeatsTheBitsOfKeyAndValueGradients) {
  for (const HeadDims& hdim : kHeadDims) {
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

// Windows and documents, so that blocks wait for others in some tiles and not in others, and a tile of keys
// that nobody sees stands between two that share a tile of queries.
TEST_P(HopperWalks, RepeatsAllBitsOfADeterministicProblem) {
  for (const auto& [hdim_q, hdim_v] :
       {std::pair<std::int64_t, std::int64_t>{64, 64}, {128, 128}, {192, 128}, {256, 256}}) {
    Problem problem = problem_of({2, 4, 2, 900, 1000, hdim_q, hdim_v}, DType::bf16);
    problem.deterministic = true;
    Problem grouped = problem;
    make_grouped(grouped, {500, 0, 64, 900}, {500, 7, 1300, 600});
    for (const Problem& form : {problem, grouped}) {
      for (const char* name : {"no_mask", "bottom_right", "top_left:150,30", "document:70,30,400"}) {
        std::vector<std::vector<std::byte>> first;
        expect_right_in_each_run(form, masks_from(name).front(),
                                 [&](Session& session, const std::string& where) {
                                   std::vector<std::vector<std::byte>> bits;
                                   for (const TensorId id : gradients_of(form))
                                     bits.push_back(session.download(id).bytes);
                                   if (first.empty()) first = bits;
                                   EXPECT_TRUE(bits == first) << "gradients move " << where;
                                 });
      }
    }
  }
}

// Such tiles are few, or those of a last wave that is not whole; their sums are in no order.
TEST_P(HopperWalks, IsRightInEachRunWhereBlocksShareATileOfKeys) {
  const std::int64_t tiles = multiprocessors() + multiprocessors() / 6;
  for (const HeadDims& hdim : kHeadDims) {
    for (const Extents& shape :
         {Extents{1, 2, 1, 1100, 1100, hdim.q, hdim.v}, {1, tiles, tiles, 450, 100, hdim.q, hdim.v}}) {
      for (const MaskSpec& mask : {kNoMask, kBottomRight}) {
        expect_right_in_each_run(problem_of(shape, DType::fp16), mask, [](Session&, const std::string&) {});
      }
    }
  }
}

TEST_P(HopperWalks, SharesATileOfKeysUnderAWindow) {
  for (const HeadDims& hdim : kHeadDims) {
    expect_right_under(problem_of({1, 2, 1, 1100, 1100, hdim.q, hdim.v}, DType::fp16),
                       masks_from("top_left:300,0,document_causal:1000"), kFill, {Layout::bshd});
  }
}

TEST_P(HopperWalks, BlocksTakeOneWalkAfterAnother) {
  const auto masks = masks_from("no_mask,top_left,bottom_right,top_left:60,20");
  for (const HeadDims& hdim : kHeadDims) {
    // More tiles of keys than multiprocessors; under top_left nobody sees the last of each head.
    Problem problem = problem_of({12, 12, 12, 130, 270, hdim.q, hdim.v}, DType::bf16);
    expect_right_under(problem, masks, kFill, {Layout::bshd});
    problem.deterministic = true;
    expect_right_under(problem, masks, kFill, {Layout::bshd});
    std::vector<std::int64_t> seqlens_q;
    std::vector<std::int64_t> seqlens_k;
    for (std::int64_t n = 0; n < 60; ++n) {
      seqlens_q.push_back(n * 37 % 200);
      seqlens_k.push_back(n * 53 % 300);
    }
    Problem grouped = problem_of({1, 4, 4, 1, 1, hdim.q, hdim.v}, DType::bf16);
    make_grouped(grouped, seqlens_q, seqlens_k);
    expect_right_under(grouped, masks, kFill, {Layout::bshd});
  }
}

// As many heads as that tiles of queries are prepared and converted before all walks over keys, between them
// and after them; one query head for each key head, and two.
TEST_P(HopperWalks, PrepareAndConvertTilesOfQueriesOfOtherHeads) {
  const auto masks = masks_from("no_mask,top_left,bottom_right,top_left:60,20");
  expect_right_under(problem_of({18, 8, 8, 512, 512, 128, 128}, DType::bf16), masks, kFill, {Layout::bshd});
  expect_right_under(problem_of({16, 8, 4, 500, 300, 96, 120}, DType::fp16), masks, kFill, {Layout::bhsd});
  expect_right_under(problem_of({18, 8, 8, 1000, 700, 64, 64}, DType::bf16), masks, kFill, {Layout::bshd});
  expect_right_under(problem_of({18, 8, 4, 950, 500, 40, 56}, DType::fp16), masks, kFill, {Layout::bhsd});
}

// The first queries see no key, and no walk visits their tiles.
TEST_P(HopperWalks, ConvertTilesThatNobodyAddsTo) {
  const auto masks = masks_from("bottom_right");
  expect_right_under(problem_of({2, 4, 4, 700, 100, 128, 128}, DType::bf16), masks, kFill, {Layout::bshd});
  expect_right_under(problem_of({2, 4, 2, 1300, 70, 64, 64}, DType::fp16), masks, kFill, {Layout::bshd});
}

INSTANTIATE_TEST_SUITE_P(Device, HopperWalks, testing::ValuesIn(devices_to_test()), test_name);

}  // namespace
}  // namespace fmha_bwd
