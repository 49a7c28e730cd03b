#include "bench/statistics.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace fmha_bwd {

double median(std::vector<double> samples) {
  if (samples.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(samples.begin(), samples.end());
  const std::size_t middle = samples.size() / 2;
  if (samples.size() % 2 == 1) return samples[middle];
  return (samples[middle - 1] + samples[middle]) / 2.0;
}

}  // namespace fmha_bwd
