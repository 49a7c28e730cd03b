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

constexpr double kBeyond = 1e9;  // the share of a budget that is 0

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

/// What a tensor may err.
struct Budget {
  double max = 0.0;
  double l2 = 0.0;
  std::vector<double> rows{};  // what each row's errors are measured by; empty where nothing is known of it

  bool finite() const { return std::isfinite(max) && std::isfinite(l2); }
};

/// The 2-norm of each row's errors.
template <typename Error>
std::vector<double> row_errors(std::int64_t rows, std::int64_t columns, const Error& error) {
  std::vector<double> norms;
  norms.reserve(static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) {
    Norms norm;
    for (std::int64_t c = 0; c < columns; ++c) norm.add(error(row * columns + c));
    norms.push_back(norm.l2());
  }
  return norms;
}

/// The 2-norm of each row, of what is finite in it.
std::vector<double> row_sizes(const std::vector<double>& truth, std::int64_t rows, std::int64_t columns) {
  return row_errors(rows, columns,
                    [&](std::int64_t i) { return std::isfinite(truth[i]) ? std::abs(truth[i]) : 0.0; });
}

/// dBias has none: what a row of it errs, that of a query which sees one key say, has nothing to do with its
/// size.
bool has_row_budgets(TensorId id, std::int64_t columns) {
  const bool has = id == TensorId::o || id == TensorId::dq || id == TensorId::dk || id == TensorId::dv;
  return has && columns >= kLeastColumnsOfRows;
}

/// Looks for rows whose errors are too large for them: verify.h has the rule. The largest error of the worst
/// one comes first in `worst` where no element is wrong by itself.
void judge_rows(const std::vector<float>& values, const std::vector<double>& truth, const HostTensor& tensor,
                const Budget& budget, double truth_l2, TensorVerdict& verdict,
                std::vector<WrongElement>& worst) {
  const std::int64_t columns = tensor.shape.column;
  if (!has_row_budgets(verdict.id, columns) || truth_l2 == 0.0) return;
  const std::int64_t rows = verdict.compared / columns;
  const auto difference = [&](std::int64_t i) { return error_of(values[i], truth[i], tensor.dtype); };
  const std::vector<double> errors = row_errors(rows, columns, difference);
  std::vector<double> sizes;  // only where nothing is known of the rows
  if (budget.rows.empty()) sizes = row_sizes(truth, rows, columns);
  const double typical = budget.l2 / std::sqrt(static_cast<double>(rows));
  const double subnormal = subnormal_roundoff(tensor.dtype) * std::sqrt(static_cast<double>(columns));
  std::int64_t worst_row = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const double unit =
        budget.rows.empty() ? std::hypot(budget.l2 / truth_l2 * sizes[row], typical) : budget.rows[row];
    const double allowed = kRowFactor * unit + subnormal;
    if (errors[row] <= allowed) {
      verdict.row_share = std::max(verdict.row_share, allowed > 0.0 ? errors[row] / allowed : 0.0);
      continue;
    }
    ++verdict.wrong_rows;
    const double share = allowed > 0.0 && std::isfinite(errors[row]) ? errors[row] / allowed : kBeyond;
    if (verdict.row_share < share) worst_row = row;
    verdict.row_share = std::max(verdict.row_share, share);
  }
  if (verdict.wrong_rows == 0 || !worst.empty()) return;
  WrongElement largest = {worst_row * columns, difference(worst_row * columns)};
  for (std::int64_t i = largest.offset; i < (worst_row + 1) * columns; ++i) {
    if (difference(i) > largest.error) largest = {i, difference(i)};
  }
  worst.push_back(largest);
}

/// `values` against `truth`, both of the tensor's rows `rows` (nullptr: of all).
TensorVerdict judge(TensorId id, const HostTensor& tensor, const std::vector<float>& values,
                    const std::vector<double>& truth, const std::vector<std::int64_t>* rows,
                    const Budget& budget) {
  Norms error, size;
  std::vector<WrongElement> worst;
  TensorVerdict verdict;
  verdict.id = id;
  verdict.elements = tensor.shape.elements();
  verdict.compared = static_cast<std::int64_t>(values.size());
  for (std::int64_t i = 0; i < verdict.compared; ++i) {
    const double difference = error_of(values[i], truth[i], tensor.dtype);
    error.add(difference);
    if (std::isfinite(truth[i])) size.add(std::abs(truth[i]));
    if (difference <= budget.max) continue;
    ++verdict.wrong;
    insert(worst, {i, difference});
  }
  judge_rows(values, truth, tensor, budget, size.l2(), verdict, worst);
  verdict.reference_l2 = size.l2();
  verdict.reference_max = size.max;
  verdict.max_diff = error.max;
  verdict.l2_diff = error.l2();
  verdict.max_diff_budget = budget.max;
  verdict.l2_budget = budget.l2;
  const std::int64_t columns = tensor.shape.column;
  for (const WrongElement& element : worst) {
    const std::int64_t row = rows ? (*rows)[element.offset / columns] : element.offset / columns;
    verdict.worst.push_back({tensor.shape.index_of(row * columns + element.offset % columns),
                             static_cast<double>(values[element.offset]), truth[element.offset]});
  }
  verdict.passed = verdict.wrong == 0 && verdict.wrong_rows == 0 && verdict.max_diff <= budget.max &&
                   verdict.l2_diff <= budget.l2 && budget.finite();
  return verdict;
}

/// For each row, the larger of the textbook's error and the expected one; empty where none is expected.
std::vector<double> row_units(DType dtype, std::int64_t columns, const std::vector<double>& truth,
                              const std::vector<float>& textbook, const std::vector<double>& expected) {
  const auto rows = static_cast<std::int64_t>(expected.size());
  const double rounding = unit_roundoff(dtype) * std::numbers::inv_sqrt3;
  const double root = std::sqrt(static_cast<double>(columns));
  std::vector<double> units =
      row_errors(rows, columns, [&](std::int64_t i) { return error_of(textbook[i], truth[i], dtype); });
  const std::vector<double> sizes = row_sizes(truth, rows, columns);
  for (std::int64_t row = 0; row < rows; ++row) {
    units[row] = larger(units[row], std::hypot(root * expected[row], rounding * sizes[row]));
  }
  return units;
}

Budget budget_for(const HostTensor& tensor, const std::vector<double>& truth,
                  const std::vector<float>& textbook, const Spread& expected,
                  const std::vector<double>& expected_rows) {
  Norms error, size;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    error.add(error_of(textbook[i], truth[i], tensor.dtype));
    if (std::isfinite(truth[i])) size.add(std::abs(truth[i]));
  }
  const std::int64_t columns = tensor.shape.column;
  const double root = std::sqrt(static_cast<double>(truth.size()));
  const double rounding = unit_roundoff(tensor.dtype) * std::numbers::inv_sqrt3;
  const double subnormal = subnormal_roundoff(tensor.dtype);
  const double expected_max = std::hypot(expected.max, rounding * size.max);
  const double expected_l2 = std::hypot(expected.rms * root, rounding * size.l2());
  return {kMaxFactor * larger(error.max, expected_max) + subnormal,
          kL2Factor * larger(error.l2(), expected_l2) +
              expected.row_rms * std::sqrt(static_cast<double>(columns)) + subnormal * root,
          row_units(tensor.dtype, columns, truth, textbook, expected_rows)};
}

/// For all of a tensor of that size, of what was said of some of its rows: as much more as it is larger than
/// they are.
Budget budget_beside(const TensorVerdict& judged, const Norms& size) {
  const auto more = [](double whole, double part) { return part > 0.0 ? std::max(1.0, whole / part) : 1.0; };
  const double elements = judged.compared == 0
                              ? 1.0
                              : static_cast<double>(judged.elements) / static_cast<double>(judged.compared);
  return {kOtherImplementation * judged.max_diff_budget * more(size.max, judged.reference_max),
          kOtherImplementation * judged.l2_budget *
              std::max(std::sqrt(elements), more(size.l2(), judged.reference_l2))};
}

/// Those rows of a tensor, as one [1, 1, rows, columns].
HostTensor only(const HostTensor& tensor, const std::vector<std::int64_t>& rows) {
  const Shape shape = {1, 1, static_cast<std::int64_t>(rows.size()), tensor.shape.column};
  HostTensor some{tensor.dtype, shape, {}};
  const auto bytes = static_cast<std::int64_t>(size_of(tensor.dtype)) * shape.column;
  some.bytes.reserve(static_cast<std::size_t>(bytes * shape.row));
  for (const std::int64_t row : rows) {
    const auto begin = tensor.bytes.begin() + row * bytes;
    some.bytes.insert(some.bytes.end(), begin, begin + bytes);
  }
  return some;
}

/// The NaNs outside of `rows`.
std::int64_t unwritten(const HostTensor& tensor, const std::vector<std::int64_t>& rows) {
  const std::vector<float> values = values_of(tensor);
  const std::int64_t columns = tensor.shape.column;
  const auto is_nan = [](float value) { return std::isnan(value); };
  std::int64_t count = std::count_if(values.begin(), values.end(), is_nan);
  for (const std::int64_t row : rows) {
    const auto begin = values.begin() + row * columns;
    count -= std::count_if(begin, begin + columns, is_nan);
  }
  return count;
}

void check_shape(const HostTensor& actual, const std::vector<float>& other) {
  if (std::ssize(other) == actual.shape.elements()) return;
  throw std::invalid_argument("compare: the other tensor does not have the same shape");
}

Reference with_expected(const Problem& problem, const AttentionInputs& inputs, Reference reference) {
  reference.expected = expected_errors(problem, inputs, reference.exact);
  return reference;
}

}  // namespace

TensorVerdict verify(TensorId id, const HostTensor& actual, const std::vector<double>& truth,
                     const std::vector<float>& textbook, const Spread& expected,
                     const std::vector<double>& expected_rows) {
  const auto elements = static_cast<std::size_t>(actual.shape.elements());
  if (truth.size() != elements || textbook.size() != elements) {
    throw std::invalid_argument("verify: the reference does not have the tensor's shape");
  }
  return judge(id, actual, values_of(actual), truth, nullptr,
               budget_for(actual, truth, textbook, expected, expected_rows));
}

const std::vector<std::int64_t>* Reference::rows_of(TensorId id) const {
  if (!sample) return nullptr;
  switch (id) {
    case TensorId::dk:
    case TensorId::dv:
      return &sample->keys.rows;
    case TensorId::dbias:
      return &sample->bias.rows;
    case TensorId::dsink:
      return nullptr;
    default:
      return &sample->queries.rows;
  }
}

Reference reference_for(const Problem& problem, const MaskSpec& mask, const AttentionInputs& inputs,
                        const Workers& workers) {
  Reference reference;
  reference.exact = exact_attention(problem, mask, inputs, part_of(workers, 0.0, 2.0 / 3.0));
  reference.textbook = textbook_attention(problem, mask, inputs, part_of(workers, 2.0 / 3.0, 1.0));
  return with_expected(problem, inputs, std::move(reference));
}

Reference sampled_reference(const Problem& problem, const MaskSpec& mask, const AttentionInputs& inputs,
                            Sample sample, const KnownLseAndD& known, const Workers& workers) {
  const ScoreTerms terms(problem, mask, InputViews(inputs));
  Reference reference;
  reference.exact = sampled_attention<double>(terms, sample, known, part_of(workers, 0.0, 2.0 / 3.0));
  reference.textbook = sampled_attention<float>(terms, sample, known, part_of(workers, 2.0 / 3.0, 1.0));
  reference.sample = std::move(sample);
  return with_expected(problem, inputs, std::move(reference));
}

TensorVerdict verify(TensorId id, const HostTensor& actual, const Reference& reference) {
  const std::vector<double>& truth = reference.exact.of(id);
  const std::vector<float>& textbook = reference.textbook.of(id);
  const Spread& expected = reference.expected.of(id);
  const std::vector<double>& expected_rows = reference.expected.rows.of(id);
  const std::vector<std::int64_t>* rows = reference.rows_of(id);
  if (rows == nullptr) return verify(id, actual, truth, textbook, expected, expected_rows);
  TensorVerdict verdict = judge(id, actual, values_of(only(actual, *rows)), truth, rows,
                                budget_for(actual, truth, textbook, expected, expected_rows));
  verdict.unwritten = unwritten(actual, *rows);
  verdict.passed = verdict.passed && verdict.unwritten == 0;
  return verdict;
}

TensorVerdict compare(TensorId id, const HostTensor& actual, const std::vector<float>& other,
                      const Reference& reference) {
  check_shape(actual, other);
  Budget budget = budget_for(actual, reference.exact.of(id), reference.textbook.of(id),
                             reference.expected.of(id), reference.expected.rows.of(id));
  budget.max *= kOtherImplementation;
  budget.l2 *= kOtherImplementation;
  for (double& row : budget.rows) row *= kOtherImplementation;
  return judge(id, actual, values_of(actual), {other.begin(), other.end()}, nullptr, budget);
}

TensorVerdict compare(TensorId id, const HostTensor& actual, const std::vector<float>& other,
                      const TensorVerdict& judged) {
  check_shape(actual, other);
  Norms size;
  for (const float value : other) {
    if (std::isfinite(value)) size.add(std::abs(static_cast<double>(value)));
  }
  return judge(id, actual, values_of(actual), {other.begin(), other.end()}, nullptr,
               budget_beside(judged, size));
}

}  // namespace fmha_bwd
