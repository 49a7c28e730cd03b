// A run made by hand for the tests of the reports: round numbers, no computation behind them.
#pragma once

#include <limits>
#include <string>

#include "base/result.h"

namespace fmha_bwd {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline TensorVerdict passed_verdict(TensorId id, double max_diff, std::int64_t elements) {
  TensorVerdict verdict;
  verdict.id = id;
  verdict.passed = true;
  verdict.max_diff = max_diff;
  verdict.max_diff_budget = 4.0 * max_diff;
  verdict.l2_diff = 0.001;
  verdict.l2_budget = 0.002;
  verdict.reference_l2 = 2.0;
  verdict.elements = verdict.compared = elements;
  return verdict;
}

inline MaskResult sample_mask(const MaskSpec& spec, const Problem& problem) {
  MaskResult mask;
  mask.mask = spec;
  mask.kernel = "simt";
  mask.kernel_reason = "the fastest that supports the problem";
  mask.counts = count(spec.rule(), problem);
  mask.flops = backward_flops(problem, mask.counts.visible_pairs);
  for (const TensorId id : gradients_of(problem)) {
    mask.gradients.push_back({id, 0.001, 0.5, {-0.25, 0.75}, std::nullopt});
    if (spec != kNoMask) mask.gradients.back().max_diff_to_no_mask = 0.0625;
  }
  mask.d_range = {-0.5, 0.125};
  mask.p_sparsity = 0.25;
  mask.verdicts = {passed_verdict(TensorId::o, 1e-4, 64),  passed_verdict(TensorId::lse, 1e-7, 8),
                   passed_verdict(TensorId::d, 1e-5, 8),   passed_verdict(TensorId::dq, 1e-6, 64),
                   passed_verdict(TensorId::dk, 2e-6, 48), passed_verdict(TensorId::dv, 3e-5, 48)};
  mask.timing = Timing{3, 20, 0.001, 0.002, 12.5, 0.003, 12.506, 12.25, 13.0, 1.5, 2.0};
  mask.command = "fmha_bwd --mask " + std::string(name_of(spec)) + " --batch 1 --nhead 2";
  return mask;
}

/// Four queries and three keys under all three masks; everything passed.
inline RunResult sample_run() {
  RunResult run;
  run.version = "1.2.3";
  run.problem.batch = 1;
  run.problem.nhead_q = run.problem.nhead_k = 2;
  run.problem.seqlen_q = 4;
  run.problem.seqlen_k = 3;
  run.problem.hdim_q = run.problem.hdim_v = 8;
  run.problem.scale = 0.5F;
  run.input_checksum = 0x0123456789abcdefU;
  run.platform = "nvidia";
  run.device_name = "A \"fine\" GPU, 80 GB";
  run.device_index = 1;
  run.arch = "sm_90";
  run.device_reason = "asked for";
  run.verification = "full";
  run.verification_reason = "estimated at 3 s, the limit is 60 s";
  for (const MaskSpec& mask : basic_masks()) run.masks.push_back(sample_mask(mask, run.problem));
  return run;
}

/// Under top_left, dK has two wrong elements, one of them NaN; that mask was not timed.
inline RunResult failed_run() {
  RunResult run = sample_run();
  MaskResult& mask = run.masks.at(1);
  mask.gradients[1] = {TensorId::dk, kNaN, kNaN, {kNaN, kNaN}, kNaN};
  TensorVerdict& dk = mask.verdicts.at(4);
  dk.passed = false;
  dk.max_diff = kNaN;
  dk.max_diff_budget = 1e-5;
  dk.l2_diff = kNaN;
  dk.wrong = 2;
  dk.worst = {{{0, 1, 2, 7}, kNaN, 0.001}, {{0, 0, 1, 0}, -kInfinity, -0.002}};
  mask.timing.reset();
  return run;
}

/// With bias and sinks, so that there are five gradients; everything passed.
inline RunResult full_run() {
  RunResult run = sample_run();
  run.problem.bias = BiasShape::head;
  run.problem.sink = run.problem.alibi = true;
  run.problem.softcap = 30.0F;
  run.problem.dropout = {0.25F, 7, 5};
  run.masks = {sample_mask(kTopLeft, run.problem)};
  run.masks.front().verdicts.push_back(passed_verdict(TensorId::dbias, 1e-6, 24));
  run.masks.front().verdicts.push_back(passed_verdict(TensorId::dsink, 1e-6, 2));
  return run;
}

/// Three passes under no_mask, of which the last differed; `required` says whether that is an error.
inline RunResult differing_run(bool required) {
  RunResult run = sample_run();
  run.problem.deterministic = required;
  for (MaskResult& mask : run.masks) mask.determinism = Determinism{3, required, std::nullopt};
  run.masks.front().determinism->difference = Difference{TensorId::dk, 2, {0, 1, 2, 7}, 0.5, 0.25, 12};
  if (required) run.masks.front().timing.reset();
  return run;
}

/// Some rows of top_left and bottom_right were verified.
inline RunResult sampled_run() {
  RunResult run = sample_run();
  run.verification = "sample";
  run.verification_reason = "full is estimated at 480 s, the limit is 60 s";
  run.masks.erase(run.masks.begin());
  for (MaskResult& mask : run.masks) {
    const bool first = mask.mask == kTopLeft;
    const SampledSide queries = {{{"edge", 260, 260}, {"boundary", 7936, 7936}, {"inner", 253948, 8188}},
                                 0.0,
                                 first ? 0.0001 : 0.00121};
    const SampledSide keys = {{{"edge", 264, 33}, {"boundary", 8000, 200}, {"inner", 1000, 7}}, 0.975, 0.12};
    mask.sampled = SampledRows{queries, keys, std::nullopt};
    for (TensorVerdict& verdict : mask.verdicts) verdict.compared = verdict.elements / 2;
  }
  return run;
}

/// With --reference device; under top_left dV has a wrong element against that reference alone.
inline RunResult third_opinion_run() {
  RunResult run = sample_run();
  run.masks.erase(run.masks.begin());
  for (MaskResult& mask : run.masks) mask.third_opinion = mask.verdicts;
  TensorVerdict& dv = run.masks.front().third_opinion.at(5);
  dv.passed = false;
  dv.wrong = 1;
  dv.max_diff = 0.5;
  dv.worst = {{{0, 1, 2, 7}, 0.75, 0.25}};
  run.masks.front().timing.reset();
  return run;
}

/// With --emulator-stats; under bottom_right no kernel has accessed shared memory.
inline RunResult counted_run() {
  RunResult run = sample_run();
  run.arch = "gfx942";
  run.emulated = true;
  run.masks.erase(run.masks.begin());
  run.masks.front().emulator_stats = {
      {"fmha_bwd::k<fmha_bwd::Half, 128>", "fmha_bwd::load<64>", "kernels/k.hip:7", "write", 16, 100, 800,
       50},
      {"fmha_bwd::k<fmha_bwd::Half, 128>", "fmha_bwd::add", "kernels/tile.h:12", "atomic", 4, 20, 20, 620},
      {"fmha_bwd::l", "int fmha_bwd::U<int>::f<&fmha_bwd::P::x, 4>", "kernels/tile.h:9", "read", 8, 3, 6, 0}};
  run.masks.back().emulator_stats.emplace();
  return run;
}

/// As with --verify none.
inline RunResult unverified_run() {
  RunResult run = sample_run();
  run.verification = "none";
  run.verification_reason = "--verify none";
  for (MaskResult& mask : run.masks) {
    mask.verdicts.clear();
    mask.p_sparsity.reset();
  }
  return run;
}

}  // namespace fmha_bwd
