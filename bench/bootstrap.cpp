#include "bench/bootstrap.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include "base/random.h"

namespace fmha_bwd {
namespace {

/// Indices from Philox: one stream a sample.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

  std::size_t below(std::size_t count) {
    if (next_ == 4) {
      words_ = philox_quad(seed_, stream_, position_++);
      next_ = 0;
    }
    return static_cast<std::size_t>((std::uint64_t{words_[next_++]} * count) >> 32);
  }

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t position_ = 0;
  PhiloxWords words_ = {};
  std::size_t next_ = 4;
};

/// Medians of resamples. The samples are kept sorted, so that counting what was drawn finds the middle.
class Resampler {
 public:
  Resampler(std::vector<double> samples, Draws draws)
      : samples_(std::move(samples)), draws_(draws), drawn_(samples_.size()) {
    std::sort(samples_.begin(), samples_.end());
  }

  double median() {
    const std::size_t count = samples_.size();
    std::fill(drawn_.begin(), drawn_.end(), std::size_t{0});
    for (std::size_t i = 0; i < count; ++i) ++drawn_[draws_.below(count)];
    return (at((count - 1) / 2) + at(count / 2)) / 2.0;
  }

 private:
  /// The resample's value at that place of its order.
  double at(std::size_t place) const {
    std::size_t i = 0;
    for (std::size_t below = drawn_[0]; below <= place; below += drawn_[i]) ++i;
    return samples_[i];
  }

  std::vector<double> samples_;
  Draws draws_;
  std::vector<std::size_t> drawn_;  // how often each sample was
};

/// The percentile interval of `statistic`, which draws its resamples itself.
template <class Statistic>
Interval interval_of(const BootstrapSettings& settings, const Statistic& statistic) {
  std::vector<double> drawn(static_cast<std::size_t>(settings.resamples));
  for (double& value : drawn) value = statistic();
  std::sort(drawn.begin(), drawn.end());
  const auto beyond = static_cast<std::size_t>((1.0 - settings.confidence) / 2.0 * settings.resamples);
  return {drawn[beyond], drawn[drawn.size() - 1 - beyond]};
}

}  // namespace

Interval median_ratio_interval(const std::vector<double>& numerator, const std::vector<double>& denominator,
                               const BootstrapSettings& settings) {
  if (numerator.empty() || denominator.empty()) throw std::invalid_argument("bootstrap: an empty sample");
  Resampler above(numerator, Draws(settings.seed, 0));
  Resampler below(denominator, Draws(settings.seed, 1));
  return interval_of(settings, [&] { return above.median() / below.median(); });
}

Interval median_interval(const std::vector<double>& samples, const BootstrapSettings& settings) {
  if (samples.empty()) throw std::invalid_argument("bootstrap: an empty sample");
  Resampler resampler(samples, Draws(settings.seed, 0));
  return interval_of(settings, [&] { return resampler.median(); });
}

}  // namespace fmha_bwd
