#include "reference/verify.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

namespace fmha_bwd {
namespace {

/// |value - truth|; 0 where both are the same infinity once in `dtype`, NaN where the value is NaN.
double error_of(float value, double truth, DType dtype) {
  if (std::isinf(value) && value == round_to(dtype, static_cast<float>(truth))) return 0.0;
  return std::abs(static_cast<double>(value) - truth);
}

/// The largest and the root of the sum of squares; NaN where any term is.
struct Norms {
  double max = 0.0;
  double sum_of_squares = 0.0;

  void add(double term) {
    if (!(term <= max)) max = std::isnan(max) ? max : term;
    sum_of_squares += term * term;
  }
  double l2() const { return std::sqrt(sum_of_squares); }
};

/// NaN where either is.
double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }

struct WrongElement {
  std::int64_t offset;
  double error;

  /// Whether this one is reported before `other`: NaN first, then by size, then by place.
  bool worse_than(const WrongElement& other) const {
    if (std::isnan(error) != std::isnan(other.error)) return std::isnan(error);
    return error > other.error;
  }
};

/// Keeps the worst few, the worst first.
void insert(std::vector<WrongElement>& worst, const WrongElement& element) {
  const auto place = std::find_if(worst.begin(), worst.end(),
                                  [&](const WrongElement& other) { return element.worse_than(other); });
  worst.insert(place, element);
  if (worst.size() > kWorstShown) worst.pop_back();
}

}  // namespace

TensorVerdict verify(TensorId id, const HostTensor& actual, const std::vector<double>& truth,
                     const std::vector<float>& textbook, const Spread& expected) {
  const std::vector<float> values = values_of(actual);
  if (truth.size() != values.size() || textbook.size() != values.size()) {
    throw std::invalid_argument("verify: the reference does not have the tensor's shape");
  }
  const auto elements = static_cast<std::int64_t>(values.size());

  Norms error, textbook_error, size;
  for (std::int64_t i = 0; i < elements; ++i) {
    error.add(error_of(values[i], truth[i], actual.dtype));
    textbook_error.add(error_of(textbook[i], truth[i], actual.dtype));
    if (std::isfinite(truth[i])) size.add(std::abs(truth[i]));
  }

  TensorVerdict verdict;
  verdict.id = id;
  verdict.elements = elements;
  verdict.reference_l2 = size.l2();
  verdict.max_diff = error.max;
  verdict.l2_diff = error.l2();

  const double root = std::sqrt(static_cast<double>(elements));
  const double rounding = unit_roundoff(actual.dtype) * std::numbers::inv_sqrt3;
  const double subnormal = subnormal_roundoff(actual.dtype);
  const double expected_max = std::hypot(expected.max, rounding * size.max);
  const double expected_l2 = std::hypot(expected.rms * root, rounding * size.l2());
  verdict.max_diff_budget = kMaxFactor * larger(textbook_error.max, expected_max) + subnormal;
  verdict.l2_budget = kL2Factor * larger(textbook_error.l2(), expected_l2) +
                      expected.row_rms * std::sqrt(static_cast<double>(actual.shape.column)) +
                      subnormal * root;

  std::vector<WrongElement> worst;
  for (std::int64_t i = 0; i < elements; ++i) {
    const double difference = error_of(values[i], truth[i], actual.dtype);
    if (difference <= verdict.max_diff_budget) continue;
    ++verdict.wrong;
    insert(worst, {i, difference});
  }
  for (const WrongElement& element : worst) {
    verdict.worst.push_back({actual.shape.index_of(element.offset),
                             static_cast<double>(values[element.offset]), truth[element.offset]});
  }
  verdict.passed = verdict.wrong == 0 && verdict.max_diff <= verdict.max_diff_budget &&
                   verdict.l2_diff <= verdict.l2_budget && std::isfinite(verdict.max_diff_budget) &&
                   std::isfinite(verdict.l2_budget);
  return verdict;
}

Reference reference_for(const Problem& problem, const MaskSpec& mask, const AttentionInputs& inputs,
                        const Workers& workers) {
  Reference reference;
  reference.exact = exact_attention(problem, mask, inputs, part_of(workers, 0.0, 0.6));
  reference.textbook = textbook_attention(problem, mask, inputs, part_of(workers, 0.6, 1.0));
  reference.expected = expected_errors(problem, inputs, reference.exact);
  return reference;
}

TensorVerdict verify(TensorId id, const HostTensor& actual, const Reference& reference) {
  return verify(id, actual, reference.exact.of(id), reference.textbook.of(id), reference.expected.of(id));
}

}  // namespace fmha_bwd
