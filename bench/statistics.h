// Statistics of timing samples: pure functions.
#pragma once

#include <vector>

namespace fmha_bwd {

/// The middle value of `samples`, the mean of the two middle ones where their count is even. NaN where there
/// is none.
double median(std::vector<double> samples);

/// NaN where there is no sample.
double mean(const std::vector<double>& samples);

/// Of the population that `samples` are from (divided by their number less one). NaN for fewer than two.
double standard_deviation(const std::vector<double>& samples);

/// The median absolute deviation as a share of the median: median |x - median| / median. NaN where there is
/// no sample, a sample is NaN or infinite, or the median is not positive.
double relative_mad(const std::vector<double>& samples);

}  // namespace fmha_bwd
