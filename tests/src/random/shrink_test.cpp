#include "src/random/shrink.h"

#include <gtest/gtest.h>

namespace fmha_bwd {
namespace {

RandomCase rich_case() {
  RandomCase rich;
  Problem& p = rich.problem;
  make_grouped(p, {0, 40, 33}, {12, 70, 0});
  p.padded_q = {1, 44, 33};
  p.nhead_q = 12;
  p.nhead_k = 3;
  p.hdim_q = 40;
  p.hdim_v = 24;
  p.layout = Layout::bshd;
  p.softcap = 2.0F;
  p.bias = BiasShape::head;
  p.alibi = p.sink = p.deterministic = true;
  p.dropout.probability = 0.5F;
  p.scale = -1.0F;
  rich.mask = masks_from("document_causal:20,30").front();
  rich.fill = {.seed = 5, .kind = FillKind::uniform, .d_o_is_one = true};
  return rich;
}

TEST(Shrink, TakesEverythingAwayThatTheFailureDoesNotNeed) {
  const RandomCase smallest = shrunk(rich_case(), [](const RandomCase&) { return true; });
  const Problem& p = smallest.problem;
  EXPECT_FALSE(p.grouped());
  EXPECT_TRUE(p.padded_q.empty());
  EXPECT_EQ(p.batch * p.nhead_q * p.nhead_k * p.seqlen_q * p.seqlen_k * p.hdim_q * p.hdim_v, 1);
  EXPECT_TRUE(p.plain_scores());
  EXPECT_FALSE(p.deterministic);
  EXPECT_EQ(p.layout, Layout::bhsd);
  EXPECT_EQ(p.scale, default_scale(1));
  EXPECT_EQ(smallest.mask, kNoMask);
  EXPECT_EQ(smallest.fill.kind, FillKind::normal);
  EXPECT_FALSE(smallest.fill.d_o_is_one);
}

TEST(Shrink, KeepsWhatTheFailureNeeds) {
  const RandomCase smallest = shrunk(rich_case(), [](const RandomCase& c) {
    return c.problem.sink && c.problem.seqlen_q >= 17 && c.problem.hdim_v > 3 &&
           !c.mask.document_ends.empty();
  });
  EXPECT_TRUE(smallest.problem.sink);
  EXPECT_FALSE(smallest.problem.alibi);
  EXPECT_EQ(smallest.problem.seqlen_q, 17);
  EXPECT_EQ(smallest.problem.seqlen_k, 1);
  EXPECT_EQ(smallest.problem.hdim_v, 4);
  EXPECT_EQ(smallest.problem.nhead_q, 1);
  EXPECT_FALSE(smallest.mask.document_ends.empty());
  EXPECT_LE(smallest.mask.document_ends.back(), 17);
}

TEST(Shrink, AsksForValidProblemsOnlyAndForNotTooMany) {
  int calls = 0;
  const RandomCase rich = rich_case();
  shrunk(rich, [&](const RandomCase& c) {
    EXPECT_EQ(complaint_about(c.problem), std::nullopt);
    ++calls;
    return calls % 2 == 0;
  });
  EXPECT_LE(calls, kMaxShrinkRuns);
}

TEST(Shrink, LeavesNoDocumentsWhereAllSequencesAreEmpty) {
  RandomCase rich = rich_case();
  make_grouped(rich.problem, {0, 40}, {0, 70});
  rich.problem.padded_q = {};
  bool seen = false;
  shrunk(rich, [&seen](const RandomCase& c) {
    const std::int64_t longest = std::max(c.problem.seqlen_q, c.problem.seqlen_k);
    seen = seen || longest == 0;
    EXPECT_LE(c.mask.document_ends.empty() ? 0 : c.mask.document_ends.back(), longest);
    return false;
  });
  EXPECT_TRUE(seen);
}

TEST(Shrink, GivesTheCaseBackWhereNothingSmallerFails) {
  const RandomCase same = shrunk(rich_case(), [](const RandomCase&) { return false; });
  EXPECT_EQ(same.problem.seqlens_q, rich_case().problem.seqlens_q);
  EXPECT_EQ(same.mask, rich_case().mask);
}

}  // namespace
}  // namespace fmha_bwd
