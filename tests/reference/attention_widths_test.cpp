// The reference on every instruction set of this CPU: the same bits where it has fused multiply-adds, and the
// truth on all.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "reference/attention.h"
#include "tests/reference/feature_cases.h"
#include "tests/reference/instruction_sets.h"
#include "tests/reference/naive_attention.h"
#include "tests/reference/same_attention.h"

namespace fmha_bwd {
namespace {

using testing::WithInstructionSet;

/// The features in problems of 55 queries and 66 keys, and shapes of several tiles.
std::vector<testing::FeatureCase> cases() {
  std::vector<testing::FeatureCase> all = testing::feature_cases(11);
  const auto add = [&](const std::string& name, const std::string& mask, const Problem& problem) {
    all.push_back({name, problem, masks_from(mask).front()});
  };
  const Problem large{1, 4, 2, 300, 260, 80, 72, DType::fp32, default_scale(80)};
  add("large", "no_mask", large);
  add("large_bottom_right", "bottom_right", large);
  add("large_window", "top_left:70,33", large);
  add("large_prefix", "prefix:140", large);
  add("large_document_causal", "document_causal:90,129", large);
  Problem one_head{1, 1, 1, 129, 257, 7, 129, DType::fp32, default_scale(7)};
  add("one_head", "bottom_right", one_head);
  one_head.nhead_q = 3;
  one_head.bias = BiasShape::shared;
  one_head.softcap = 3.0F;
  one_head.alibi = one_head.sink = true;
  one_head.dropout.probability = 0.2F;
  add("large_everything", "top_left", one_head);
  Problem groups{1, 2, 1, 1, 1, 24, 16, DType::fp32, default_scale(24)};
  make_grouped(groups, {150, 0, 64, 1}, {40, 9, 200, 129});
  add("large_groups", "bottom_right", groups);
  return all;
}

class Widths : public ::testing::TestWithParam<testing::FeatureCase> {};
INSTANTIATE_TEST_SUITE_P(Attention, Widths, ::testing::ValuesIn(cases()), testing::test_name);

template <typename Compute>
void expect_same_on_fused(const Problem& problem, const Compute& compute) {
  std::string first;
  decltype(compute()) expected;
  for (const std::string& name : instruction_sets()) {
    if (!testing::is_fused(name)) continue;
    const WithInstructionSet set(name);
    auto result = compute();
    if (first.empty()) {
      first = name;
      expected = std::move(result);
      continue;
    }
    testing::expect_same_outputs(problem, result, expected, name + " and " + first);
    testing::expect_near_statistics(result.statistics, expected.statistics, 1e-12, name + " and " + first);
  }
}

TEST_P(Widths, HaveTheSameBitsWithFusedMultiplyAdds) {
  Problem problem = GetParam().problem;
  const AttentionInputs inputs = draw_inputs(problem, {.standard_deviation = 1.0F});
  expect_same_on_fused(problem, [&] { return exact_attention(problem, GetParam().mask, inputs); });
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    problem.dtype = dtype;
    expect_same_on_fused(problem, [&] { return textbook_attention(problem, GetParam().mask, inputs); });
  }
}

TEST_P(Widths, AgreeWithTheNaiveOracleOnAll) {
  const auto& [case_name, problem, mask] = GetParam();
  const AttentionInputs inputs = draw_inputs(problem, {.standard_deviation = 1.0F});
  const auto naive = testing::naive_attention(problem, mask, inputs);
  for (const std::string& name : instruction_sets()) {
    const WithInstructionSet set(name);
    const ExactAttention exact = exact_attention(problem, mask, inputs);
    const TextbookAttention textbook = textbook_attention(problem, mask, inputs);
    for (const TensorId id : outputs_of(problem)) {
      const std::string what = name + ": " + std::string(name_of(id));
      testing::expect_near(exact.of(id), naive.of(id), 1e-12, what);
      const std::vector<double> values(textbook.of(id).begin(), textbook.of(id).end());
      testing::expect_near(values, naive.of(id), 100.0 * unit_roundoff(problem.dtype),
                           what + " of the textbook");
    }
  }
}

}  // namespace
}  // namespace fmha_bwd
