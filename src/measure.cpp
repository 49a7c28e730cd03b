#include "src/measure.h"

#include <algorithm>
#include <vector>

#include "bench/statistics.h"

namespace fmha_bwd {
namespace {

double median_of(const std::vector<BackwardTimes>& passes, double BackwardTimes::*stage) {
  std::vector<double> samples;
  samples.reserve(passes.size());
  for (const BackwardTimes& pass : passes) samples.push_back(pass.*stage);
  return median(std::move(samples));
}

double tflops(double flops, double milliseconds) {
  return flops == 0.0 ? 0.0 : flops / (milliseconds * 1e-3) * 1e-12;
}

}  // namespace

Timing measure(Session& session, const Problem& problem, const MaskSpec& mask, const MaskCounts& counts,
               std::int64_t warmup, std::int64_t repeat, const std::function<void(double)>& progress) {
  std::vector<BackwardTimes> passes;
  for (std::int64_t pass = -warmup; pass < repeat; ++pass) {
    const BackwardTimes times = session.backward(mask);
    if (pass >= 0) passes.push_back(times);
    progress(static_cast<double>(pass + warmup + 1) / static_cast<double>(warmup + repeat));
  }
  const auto [fastest, slowest] =
      std::minmax_element(passes.begin(), passes.end(),
                          [](const BackwardTimes& a, const BackwardTimes& b) { return a.total < b.total; });

  Timing timing;
  timing.warmup = warmup;
  timing.samples = repeat;
  timing.zero_dq_ms = median_of(passes, &BackwardTimes::zero_dq);
  timing.dot_do_o_ms = median_of(passes, &BackwardTimes::dot_do_o);
  timing.dq_dk_dv_ms = median_of(passes, &BackwardTimes::dq_dk_dv);
  timing.convert_dq_ms = median_of(passes, &BackwardTimes::convert_dq);
  timing.total_ms = median_of(passes, &BackwardTimes::total);
  timing.total_min_ms = fastest->total;
  timing.total_max_ms = slowest->total;
  timing.tflops = tflops(backward_flops(problem, counts.visible_pairs), timing.total_ms);
  timing.tflops_dense = tflops(backward_flops(problem, counts.all_pairs), timing.total_ms);
  return timing;
}

}  // namespace fmha_bwd
