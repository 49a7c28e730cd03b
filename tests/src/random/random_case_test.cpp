#include "src/random/random_case.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/sequences.h"
#include "tests/src/options_of.h"

namespace fmha_bwd {
namespace {

constexpr std::uint64_t kCases = 3000;

TEST(RandomCase, IsAlwaysAValidProblem) {
  for (std::uint64_t number = 0; number < kCases; ++number) {
    const RandomCase drawn = draw_case(1, number);
    EXPECT_EQ(complaint_about(drawn.problem), std::nullopt) << number;
    Options of_case;
    of_case.problem = drawn.problem;
    of_case.fill = drawn.fill;
    EXPECT_EQ(options(reproducing_arguments(of_case, drawn.mask)).masks.front(), drawn.mask) << number;
  }
}

TEST(RandomCase, IsTheSameForTheSameSeedAndNumber) {
  for (const std::uint64_t number : {0, 1, 77}) {
    const RandomCase one = draw_case(5, number);
    const RandomCase other = draw_case(5, number);
    EXPECT_EQ(one.problem.seqlen_q, other.problem.seqlen_q);
    EXPECT_EQ(one.problem.hdim_q, other.problem.hdim_q);
    EXPECT_EQ(one.fill.seed, other.fill.seed);
    EXPECT_EQ(one.mask, other.mask);
    EXPECT_NE(one.fill.seed, draw_case(6, number).fill.seed);
    EXPECT_NE(one.fill.seed, draw_case(5, number + 1).fill.seed);
  }
}

TEST(RandomCase, HasEveryFeatureNowAndThen) {
  std::set<std::string> seen;
  const auto note = [&](bool has, const std::string& feature) {
    if (has) seen.insert(feature);
  };
  for (std::uint64_t number = 0; number < kCases; ++number) {
    const auto [p, mask, fill] = draw_case(2, number);
    seen.insert(std::string(name_of(p.dtype)));
    seen.insert("layout " + std::string(name_of(p.layout)));
    seen.insert("bias " + std::string(name_of(p.bias)));
    seen.insert("fill " + std::string(name_of(fill.kind)));
    const std::string name = name_of(mask);
    seen.insert("mask " + name.substr(0, name.find_first_of(":,")));
    note(name.starts_with("top_left:") || name.starts_with("bottom_right:"), "window");
    note(p.grouped(), "group");
    note(p.grouped() && (p.seqlens_q.front() == 0 || p.seqlens_k.back() == 0), "zero length");
    note(has_padding(p), "padding");
    note(p.grouped() && has_padding(p) && p.layout == Layout::qkv, "padded packed groups");
    note(p.group_size() > 1, "grouped heads");
    note(p.nhead_q > 1 && p.nhead_k == 1, "one key head");
    note(p.hdim_q != p.hdim_v, "hdim_v");
    note(p.hdim_q > 256, "large hdim");
    note(p.alibi, "alibi");
    note(p.softcap > 0, "softcap");
    note(p.sink, "sink");
    note(p.dropout.probability > 0, "dropout");
    note(p.dropout.probability > 0 && p.softcap > 0 && p.bias != BiasShape::none, "three together");
    note(p.deterministic, "deterministic");
    note(p.scale == 0, "scale 0");
    note(p.scale < 0, "scale < 0");
    note(fill.d_o_is_one, "dO = 1");
  }
  for (const char* feature : {"fp16",
                              "bf16",
                              "fp32",
                              "layout bhsd",
                              "layout bshd",
                              "layout qkv",
                              "bias shared",
                              "bias head",
                              "bias batch",
                              "bias full",
                              "fill normal",
                              "fill uniform",
                              "fill integers",
                              "fill zeros",
                              "fill extreme",
                              "mask no_mask",
                              "mask top_left",
                              "mask bottom_right",
                              "mask prefix",
                              "mask document",
                              "mask document_causal",
                              "window",
                              "group",
                              "zero length",
                              "padding",
                              "padded packed groups",
                              "grouped heads",
                              "one key head",
                              "hdim_v",
                              "large hdim",
                              "alibi",
                              "softcap",
                              "sink",
                              "dropout",
                              "three together",
                              "deterministic",
                              "scale 0",
                              "scale < 0",
                              "dO = 1"}) {
    EXPECT_TRUE(seen.contains(feature)) << feature;
  }
}

}  // namespace
}  // namespace fmha_bwd
