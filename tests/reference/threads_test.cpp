// The reference on several threads: the same bits, and an end of all of them where one fails.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reference/attention.h"
#include "reference/sample.h"
#include "reference/sampled_attention.h"
#include "reference/score_terms.h"
#include "tests/reference/feature_cases.h"
#include "tests/reference/same_attention.h"

namespace fmha_bwd {
namespace {

std::vector<testing::FeatureCase> cases() {
  std::vector<testing::FeatureCase> all;
  const auto add = [&](const std::string& name, const std::string& mask, auto&& change) {
    Problem problem{2, 4, 2, 400, 330, 9, 12, DType::fp16, 0.4F};
    change(problem);
    all.push_back({name, problem, masks_from(mask).front()});
  };
  const auto bias = [](BiasShape shape) { return [shape](Problem& p) { p.bias = shape; }; };
  add("no_mask", "no_mask", [](Problem&) {});
  add("top_left", "top_left", [](Problem&) {});
  add("bottom_right", "bottom_right", [](Problem&) {});
  add("window", "top_left:60,70", [](Problem&) {});
  add("one_head", "bottom_right", [](Problem& p) { p.batch = p.nhead_q = p.nhead_k = 1; });
  add("one_key_head", "top_left", [](Problem& p) { p.nhead_k = 1; });
  add("shared_bias", "bottom_right", bias(BiasShape::shared));
  add("full_bias", "no_mask", bias(BiasShape::full));
  add("sink_and_dropout", "top_left", [](Problem& p) {
    p.sink = true;
    p.dropout.probability = 0.2F;
  });
  add("groups", "bottom_right", [](Problem& p) { make_grouped(p, {300, 0, 129, 5}, {64, 7, 280, 0}); });
  add("groups_with_bias", "top_left", [](Problem& p) {
    make_grouped(p, {200, 40}, {150, 190});
    p.bias = BiasShape::head;
  });
  return all;
}

class Threads : public ::testing::TestWithParam<testing::FeatureCase> {};
INSTANTIATE_TEST_SUITE_P(Attention, Threads, ::testing::ValuesIn(cases()), testing::test_name);

template <typename Compute>
void expect_same_on_threads(const Problem& problem, const Compute& compute) {
  const auto one = compute(Workers{.threads = 1});
  for (const int threads : {2, 3, 16}) {
    const auto other = compute(Workers{.threads = threads});
    const std::string what = std::to_string(threads) + " threads";
    testing::expect_same_outputs(problem, other, one, what);
    EXPECT_EQ(testing::numbers_of(other.statistics), testing::numbers_of(one.statistics)) << what;
  }
}

TEST_P(Threads, DoNotChangeTheBits) {
  const auto& [name, problem, mask] = GetParam();
  const AttentionInputs inputs = draw_inputs(problem, {.standard_deviation = 1.0F});
  expect_same_on_threads(
      problem, [&](const Workers& workers) { return exact_attention(problem, mask, inputs, workers); });
  expect_same_on_threads(
      problem, [&](const Workers& workers) { return textbook_attention(problem, mask, inputs, workers); });
}

TEST_P(Threads, DoNotChangeTheBitsOfASample) {
  const auto& [name, problem, mask] = GetParam();
  const AttentionInputs inputs = draw_inputs(problem, {.standard_deviation = 1.0F});
  const TextbookAttention device = textbook_attention(problem, mask, inputs);
  const ScoreTerms terms(problem, mask, InputViews(inputs));
  const Sample sample = choose_sample(problem, mask, 500, 3);
  const KnownLseAndD known = {device.lse, device.d};
  expect_same_on_threads(problem, [&](const Workers& workers) {
    return sampled_attention<double>(terms, sample, known, workers);
  });
  expect_same_on_threads(problem, [&](const Workers& workers) {
    return sampled_attention<float>(terms, sample, known, workers);
  });
}

}  // namespace
}  // namespace fmha_bwd
