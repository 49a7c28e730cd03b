// Bootstrap intervals of a ratio of medians, and of a median.
#pragma once

#include <cstdint>
#include <vector>

namespace fmha_bwd {

struct Interval {
  double low = 0.0;
  double high = 0.0;
};

struct BootstrapSettings {
  double confidence = 0.95;  // in (0, 1)
  int resamples = 10000;
  std::uint64_t seed = 1;
};

/// The percentile interval (B. Efron, "Bootstrap methods: another look at the jackknife", Annals of
/// Statistics 7 (1979)) of median(numerator) / median(denominator): both samples are drawn anew, with
/// replacement and independently; of the sorted ratios, the ends have as many beyond them on either side. The
/// same samples and settings give the same bits everywhere. Samples are positive, in the same unit. Throws
/// std::invalid_argument where a sample is empty.
Interval median_ratio_interval(const std::vector<double>& numerator, const std::vector<double>& denominator,
                               const BootstrapSettings& settings = {});

/// The same of the median of one sample.
Interval median_interval(const std::vector<double>& samples, const BootstrapSettings& settings = {});

}  // namespace fmha_bwd
