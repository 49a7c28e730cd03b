// The hopper family against the fp64 reference, on every device that has it.
#include <gtest/gtest.h>

#include <array>

#include "base/sequences.h"
#include "tests/kernels/hopper_family_test.h"
#include "tests/kernels/score_problems.h"

namespace fmha_bwd {
namespace {

/// Of problems with a soft-cap, ALiBi or dropout: each kernel's own, and such as the copy engine pads.
constexpr std::array<HeadDims, 2> kScoredHeadDims = {{{64, 64}, {128, 128}}};
constexpr std::array<HeadDims, 3> kPaddedHeadDims = {{{40, 40}, {64, 128}, {96, 72}}};

class Hopper : public HopperTest {
 protected:
  /// Sequences about as long as tiles of queries and of keys, some of which have none of either.
  static Problem groups(const HeadDims& hdim, DType dtype) {
    Problem problem = problem_of({1, 4, 2, 1, 1, hdim.q, hdim.v}, dtype);
    make_grouped(problem, {70, 0, 63, 64, 300, 65, 0, 129, 127, 1, 128},
                 {90, 5, 128, 129, 260, 0, 0, 127, 300, 3, 1});
    return problem;
  }

  /// Of each element, whether its sequence is the second, the fourth ...
  static std::vector<bool> of_odd_sequences(TensorId id, const Problem& problem) {
    const Shape shape = shape_of(id, problem);
    const bool query = id == TensorId::q || id == TensorId::d_o || id == TensorId::dq;
    std::vector<bool> odd(static_cast<std::size_t>(shape.elements()), false);
    const std::vector<Sequence> sequences = sequences_of(problem);
    for (std::size_t n = 1; n < sequences.size(); n += 2) {
      const Sequence& s = sequences[n];
      const std::int64_t first = query ? s.first_q : s.first_k;
      const std::int64_t end = first + (query ? s.seqlen_q : s.seqlen_k);
      for (std::size_t i = 0; i < odd.size(); ++i) {
        const std::int64_t row = shape.index_of(static_cast<std::int64_t>(i)).row;
        if (first <= row && row < end) odd[i] = true;
      }
    }
    return odd;
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

TEST_P(Hopper, TakesHeadDimensionsThatAreNoTile) {
  for (const auto& [hdim_q, hdim_v] : {std::pair{8, 8},
                                       {40, 40},
                                       {72, 72},
                                       {96, 96},
                                       {120, 120},
                                       {8, 64},
                                       {56, 16},
                                       {64, 72},
                                       {128, 8},
                                       {16, 104},
                                       {136, 136},
                                       {152, 8},
                                       {16, 248},
                                       {184, 120},
                                       {72, 136},
                                       {208, 192}}) {
    for (const DType dtype : kTypes) {
      expect_right(problem_of({2, 4, 2, 150, 200, hdim_q, hdim_v}, dtype), 1.0F,
                   {Layout::bhsd, Layout::bshd});
    }
  }
}

TEST_P(Hopper, FindsQKAndVInOneTensor) {
  for (const HeadDims& hdim : {HeadDims{24, 24}, {64, 64}, {128, 128}, {192, 192}, {256, 256}}) {
    expect_right(problem_of({2, 4, 2, 150, 150, hdim.q, hdim.v}, DType::fp16), 1.0F, {Layout::qkv});
  }
}

TEST_P(Hopper, LeavesPaddingAlone) {
  for (const Layout layout : {Layout::bhsd, Layout::bshd, Layout::qkv}) {
    for (const HeadDims& hdim : {HeadDims{40, 40}, {128, 128}, {160, 160}}) {
      Problem problem = problem_of({3, 2, 2, 150, 150, hdim.q, hdim.v}, DType::bf16);
      problem.padded_q = {151};
      problem.padded_k = {layout == Layout::qkv ? 151 : 256};
      expect_right(problem, 1.0F, {layout});
    }
  }
}

TEST_P(Hopper, SinksTakePartInTheSum) {
  for (const HeadDims& hdim : kHeadDims) {
    Problem problem = problem_of({2, 4, 2, 150, 90, hdim.q, hdim.v}, DType::fp16);
    problem.sink = true;
    expect_right(problem, 1.0F);
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
  expect_right(problem_of({1, 2 * heads, heads, 200, 50, 192, 128}, DType::bf16), 1.0F);
}

TEST_P(Hopper, KeepsTheHeadsAndTheSequencesOfABatchApart) {
  expect_right_in_every_form(extents(3, 4, 2, 190, 260), 1.0F);
}

TEST_P(Hopper, IsRightWherePIsNearlyUniform) { expect_right_in_every_form(extents(1, 2, 2, 500, 500), 0.1F); }

TEST_P(Hopper, IsRightWherePIsNearlyOneHot) { expect_right_in_every_form(extents(1, 2, 2, 500, 500), 3.0F); }

TEST_P(Hopper, TakesANegativeAndAZeroScale) {
  for (const HeadDims& hdim : kHeadDims) {
    for (const DType dtype : kTypes) {
      for (const float scale : {-0.3F, 0.0F}) {
        Problem problem = problem_of({1, 2, 1, 200, 330, hdim.q, hdim.v}, dtype);
        problem.scale = scale;
        expect_right(problem, 1.0F);
      }
    }
  }
}

TEST_P(Hopper, GivesARowThatSeesNoKeyZerosAndMinusInfinity) {
  for (const HeadDims& hdim : kHeadDims) {
    expect_zeros_in_rows_that_see_no_key(problem_of({1, 1, 1, 700, 300, hdim.q, hdim.v}, DType::fp16));
  }
}

TEST_P(Hopper, GivesAKeyThatNoQuerySeesZeroGradients) {
  for (const HeadDims& hdim : kHeadDims) {
    expect_zeros_in_keys_that_no_query_sees(problem_of({1, 1, 1, 300, 700, hdim.q, hdim.v}, DType::fp16));
  }
}

TEST_P(Hopper, GivesTheSameBitsInEitherLayout) {
  for (const HeadDims& hdim : kHeadDims) {
    expect_same_bits_in_either_layout(problem_of(whole_wave(hdim), DType::fp16));
  }
}

TEST_P(Hopper, IsRightUnderASoftCap) {
  for (const DType dtype : kTypes) {
    for (const HeadDims& hdim : kScoredHeadDims) {
      for (const Problem& problem : soft_capped(problem_of({2, 4, 2, 190, 330, hdim.q, hdim.v}, dtype))) {
        expect_right(problem, 1.0F, {Layout::bhsd, Layout::bshd});
      }
    }
  }
}

TEST_P(Hopper, IsRightWithAlibi) {
  for (const DType dtype : kTypes) {
    for (const HeadDims& hdim : kScoredHeadDims) {
      for (const auto& [seqlen_q, seqlen_k] : {std::pair{190, 330}, {330, 190}, {600, 600}}) {
        Problem problem = problem_of({2, 6, 3, seqlen_q, seqlen_k, hdim.q, hdim.v}, dtype);
        problem.alibi = true;
        expect_right(problem, 1.0F);
      }
    }
  }
}

TEST_P(Hopper, DropsTheElementsThatTheReferenceDrops) {
  for (const DType dtype : kTypes) {
    for (const HeadDims& hdim : kScoredHeadDims) {
      Problem problem = problem_of({2, 4, 2, 330, 290, hdim.q, hdim.v}, dtype);
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
    for (const HeadDims& hdim : kScoredHeadDims) {
      for (int left_out = 0; left_out < 4; ++left_out) {
        Problem problem = problem_of({1, 6, 2, 260, 390, hdim.q, hdim.v}, dtype);
        if (left_out != 1) problem.softcap = 3.0F;
        if (left_out != 2) problem.alibi = true;
        if (left_out != 3) problem.dropout = {0.3F, 99, 123};
        expect_right(problem, 1.0F);
      }
    }
  }
}

TEST_P(Hopper, IsRightWithAllThreeInAnyLayoutWithPaddingAndOtherHeadDimensions) {
  for (const DType dtype : kTypes) {
    for (const HeadDims& hdim : kPaddedHeadDims) {
      Problem problem = problem_of({2, 6, 2, 260, 390, hdim.q, hdim.v}, dtype);
      problem.softcap = 3.0F;
      problem.alibi = true;
      problem.dropout = {0.3F, 99, 123};
      expect_right(problem, 1.0F, {Layout::bhsd, Layout::bshd});
      if (hdim.q == hdim.v) {
        Problem packed = problem;
        packed.seqlen_k = packed.seqlen_q;
        expect_right(packed, 1.0F, {Layout::qkv});
      }
      problem.padded_q = {300};
      problem.padded_k = {391};
      expect_right(problem, 1.0F);
    }
  }
}

TEST_P(Hopper, IsRightWhereTheDiagonalIsMovedToEitherSide) {
  for (const char* name : {"top_left:-1,5", "bottom_right:-1,70"}) {
    for (const HeadDims& hdim : kHeadDims) {
      expect_right_under(problem_of({1, 2, 1, 300, 330, hdim.q, hdim.v}, DType::bf16), masks_from(name),
                         {.seed = 7, .standard_deviation = 1.0F}, {Layout::bshd});
    }
  }
}

TEST_P(Hopper, SeesWhatAWindowLeavesVisible) {
  // Tiles have 64 or 128 queries and 128 keys: limits at their boundaries and beside them.
  for (const HeadDims& hdim : {HeadDims{40, 40}, {64, 64}, {128, 128}, {192, 128}, {256, 256}}) {
    expect_right_under(
        problem_of({1, 4, 2, 390, 390, hdim.q, hdim.v}, DType::fp16),
        masks_from("top_left:0,0,top_left:63,-1,top_left:64,0,top_left:127,128,bottom_right:128,0,"
                   "bottom_right:129,64,generic:150,-20,top_left:-1,3,xt:5"),
        kFill, {Layout::bshd});
  }
}

TEST_P(Hopper, SeesAWindowOverQueriesAndKeysThatDifferInNumber) {
  for (const auto& [seqlen_q, seqlen_k] : {std::pair{500, 90}, {90, 500}, {513, 385}}) {
    for (const HeadDims& hdim : kHeadDims) {
      expect_right_under(problem_of({1, 2, 1, seqlen_q, seqlen_k, hdim.q, hdim.v}, DType::bf16),
                         masks_from("top_left:10,3,bottom_right:100,30"), kFill, {Layout::bhsd});
    }
  }
}

TEST_P(Hopper, SeesPrefixesAndDocuments) {
  for (const HeadDims& hdim : kHeadDims) {
    expect_right_under(
        problem_of({2, 2, 1, 390, 390, hdim.q, hdim.v}, DType::bf16),
        masks_from("prefix:1,prefix:128,prefix:200,prefix:500,document:128,64,document:1,300,20,"
                   "document_causal:10,1,200,document_causal:64,64,128"),
        kFill, {Layout::bhsd});
  }
}

TEST_P(Hopper, TakesSequencesOfDifferentLengths) {
  for (const HeadDims& hdim : {HeadDims{24, 24}, {64, 64}, {128, 128}, {192, 128}, {256, 256}}) {
    for (const Layout layout : {Layout::bhsd, Layout::bshd}) {
      expect_right_under(
          groups(hdim, DType::fp16),
          masks_from("no_mask,top_left,bottom_right,bottom_right:70,5,document_causal:20,100,30"), kFill,
          {layout});
    }
    if (hdim.q != hdim.v) continue;
    Problem packed = problem_of({1, 4, 2, 1, 1, hdim.q, hdim.v}, DType::bf16);
    make_grouped(packed, {130, 0, 64, 200, 1}, {130, 0, 64, 200, 1});
    expect_right_under(packed, masks_from("no_mask,top_left"), kFill, {Layout::qkv});
  }
}

TEST_P(Hopper, TakesMoreSequencesThanAWarpHasLanes) {
  for (const std::int64_t count : {32, 33, 100, 1100}) {
    std::vector<std::int64_t> seqlens_q;
    std::vector<std::int64_t> seqlens_k;
    for (std::int64_t n = 0; n < count; ++n) {
      seqlens_q.push_back(n % 7 == 0 ? 0 : n * 37 % 50);
      seqlens_k.push_back(n % 5 == 0 ? 0 : n * 53 % 180);
    }
    Problem problem = problem_of({1, 2, 2, 1, 1, 64, 64}, DType::bf16);
    make_grouped(problem, seqlens_q, seqlens_k);
    expect_right_under(problem, masks_from("bottom_right"), kFill, {Layout::bshd});
  }
}

// A row past a sequence's end is the next one's: if that is no number, it must not come into this one's sums.
TEST_P(Hopper, KeepsWhatIsNoNumberInItsSequence) {
  for (const HeadDims& hdim : kHeadDims) {
    const Problem problem = groups(hdim, DType::fp16);
    const auto session = computed(problem, kBottomRight, kFill);
    for (const TensorId id : {TensorId::q, TensorId::k, TensorId::v, TensorId::d_o}) {
      const HostTensor tensor = session->download(id);
      std::vector<float> values = values_of(tensor);
      const std::vector<bool> odd = of_odd_sequences(id, problem);
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (odd[i]) values[i] = std::numeric_limits<float>::quiet_NaN();
      }
      session->upload(id, tensor_from(values, tensor.shape, tensor.dtype));
    }
    compute(*session, kBottomRight);
    for (const TensorId id : gradients_of(problem)) {
      const std::vector<float> values = values_of(session->download(id));
      const std::vector<bool> odd = of_odd_sequences(id, problem);
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_TRUE(odd[i] || std::isfinite(values[i])) << name_of(id) << " " << i << ", hdim " << hdim.q;
      }
    }
  }
}

TEST_P(Hopper, TakesABatchOfNothing) {
  for (const auto& [seqlens_q, seqlens_k] :
       {std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>{{0, 0}, {0, 0}},
        {{0, 0}, {5, 0}},
        {{3, 0}, {0, 0}}}) {
    Problem problem = problem_of({1, 2, 1, 1, 1, 64, 64}, DType::fp16);
    make_grouped(problem, seqlens_q, seqlens_k);
    expect_right_under(problem, masks_from("bottom_right"), kFill, {Layout::bshd});
  }
}

TEST_P(Hopper, LeavesThePaddingOfSequencesAlone) {
  for (const Layout layout : {Layout::bhsd, Layout::bshd}) {
    Problem problem = groups({40, 40}, DType::bf16);
    problem.sink = true;
    for (const std::int64_t seqlen : problem.seqlens_q) problem.padded_q.push_back(seqlen + seqlen % 3);
    expect_right_under(problem, masks_from("bottom_right"), kFill, {layout});
    for (const std::int64_t seqlen : problem.seqlens_k) problem.padded_k.push_back(seqlen + 5);
    expect_right_under(problem, masks_from("bottom_right,top_left:30,5"), kFill, {layout});
  }
}

INSTANTIATE_TEST_SUITE_P(Device, Hopper, testing::ValuesIn(devices_to_test()), test_name);

}  // namespace
}  // namespace fmha_bwd
