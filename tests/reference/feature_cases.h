// Small problems that have every feature alone, and some together.
#pragma once

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/mask_spec.h"
#include "base/problem.h"

namespace fmha_bwd::testing {

struct FeatureCase {
  std::string name;
  Problem problem;
  MaskSpec mask;
};

inline std::ostream& operator<<(std::ostream& out, const FeatureCase& c) { return out << c.name; }

/// Lengths are multiples of `unit`: the problems have 5 unit queries and 6 unit keys.
inline std::vector<FeatureCase> feature_cases(std::int64_t unit) {
  std::vector<FeatureCase> all;
  const auto number = [&](std::int64_t n) { return std::to_string(n * unit); };
  const auto add = [&](const std::string& name, const std::string& mask, auto&& change) {
    // Two query heads to a key head, and hdim_q != hdim_v.
    Problem problem{2, 4, 2, 5 * unit, 6 * unit, 3, 5, DType::fp32, 0.7F};
    change(problem);
    all.push_back({name, problem, masks_from(mask).front()});
  };
  const auto nothing = [](Problem&) {};
  const auto groups = [&](Problem& p) {
    make_grouped(p, {4 * unit, 0, 2 * unit, 3 * unit}, {3 * unit, 2 * unit, 0, 5 * unit});
  };
  const auto bias = [](BiasShape shape) { return [shape](Problem& p) { p.bias = shape; }; };
  const auto drop = [](Problem& p) { p.dropout = {.probability = 0.3F, .seed = 5, .offset = 7}; };

  add("no_mask", "no_mask", nothing);
  add("top_left", "top_left", nothing);
  add("bottom_right", "bottom_right", nothing);
  add("window_top_left", "top_left:" + number(1) + "," + number(2), nothing);
  add("window_bottom_right", "bottom_right:" + number(2) + "," + number(1), nothing);
  add("window_beyond_the_diagonal", "generic:0," + number(3), nothing);
  add("prefix", "prefix:" + number(3), nothing);
  add("documents", "document:" + number(2) + "," + number(1), nothing);
  add("document_causal", "document_causal:" + number(1) + "," + number(3), nothing);
  add("empty_rows", "bottom_right", [&](Problem& p) { p.seqlen_k = 3 * unit; });
  add("groups", "no_mask", groups);
  add("groups_bottom_right", "bottom_right", groups);
  add("groups_window", "top_left:" + number(1) + "," + number(1), groups);
  add("shared_bias", "no_mask", bias(BiasShape::shared));
  add("bias_of_heads", "top_left", bias(BiasShape::head));
  add("bias_of_batches", "bottom_right", bias(BiasShape::batch));
  add("full_bias", "no_mask", bias(BiasShape::full));
  add("alibi_top_left", "top_left", [](Problem& p) { p.alibi = true; });
  add("alibi_bottom_right", "no_mask", [](Problem& p) { p.alibi = true; });
  add("dropout", "no_mask", drop);
  add("softcap", "no_mask", [](Problem& p) { p.softcap = 2.0F; });
  add("sink", "no_mask", [](Problem& p) { p.sink = true; });
  add("sink_of_empty_rows", "bottom_right", [&](Problem& p) {
    p.sink = true;
    p.seqlen_k = 3 * unit;
  });
  add("one_key_head", "no_mask", [](Problem& p) { p.nhead_k = 1; });
  add("negative_scale", "top_left", [](Problem& p) { p.scale = -0.7F; });
  add("groups_of_everything", "bottom_right:" + number(2) + "," + number(1), [&](Problem& p) {
    groups(p);
    drop(p);
    p.bias = BiasShape::batch;
    p.alibi = p.sink = true;
    p.softcap = 2.0F;
  });
  add("shared_bias_of_groups", "no_mask", [&](Problem& p) {
    groups(p);
    p.bias = BiasShape::shared;
    p.sink = true;
  });
  add("everything", "prefix:" + number(2), [&](Problem& p) {
    drop(p);
    p.bias = BiasShape::head;
    p.alibi = p.sink = true;
    p.softcap = 3.0F;
    p.scale = -0.5F;
  });
  return all;
}

/// For names of tests.
inline std::string test_name(const ::testing::TestParamInfo<FeatureCase>& info) { return info.param.name; }

}  // namespace fmha_bwd::testing
