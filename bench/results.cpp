#include "bench/results.h"

#include <algorithm>
#include <limits>

#include "bench/statistics.h"

namespace fmha_bwd {
namespace {

template <class TimeOf>
double median_over_rounds(const BenchCase& item, const TimeOf& time) {
  std::vector<double> times;
  for (const Round& round : item.rounds) times.push_back(time(round));
  return median(std::move(times));
}

double per_second(double amount, double milliseconds) { return amount / (milliseconds * 1e-3); }

}  // namespace

double time_of(const Round& round) {
  return median(round.batch_ms.empty() ? round.single_ms : round.batch_ms);
}

double time_of(const BenchCase& item) {
  return median_over_rounds(item, [](const Round& round) { return time_of(round); });
}

double single_time_of(const BenchCase& item) {
  return median_over_rounds(item, [](const Round& round) { return median(round.single_ms); });
}

double graph_time_of(const BenchCase& item) {
  return median_over_rounds(item, [](const Round& round) { return median(round.graph_ms); });
}

Rates rates_of(const BenchCase& item, const BenchContext& context, double milliseconds) {
  Rates rates;
  rates.tflops = per_second(item.flops, milliseconds) * 1e-12;
  rates.tflops_dense = per_second(item.flops_dense, milliseconds) * 1e-12;
  rates.gbytes_per_s = per_second(item.bytes, milliseconds) * 1e-9;
  if (item.peak_flops <= 0.0) return rates;
  rates.peak = per_second(item.flops, milliseconds) / item.peak_flops;
  if (context.memory_gbytes_per_s <= 0.0) return rates;
  const double least_seconds =
      std::max(item.flops / item.peak_flops, item.bytes / (context.memory_gbytes_per_s * 1e9));
  rates.roofline = per_second(least_seconds, milliseconds);
  return rates;
}

}  // namespace fmha_bwd
