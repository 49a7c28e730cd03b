#include "reference/expected_error.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace fmha_bwd {
namespace {

constexpr double kSumRoundoff = 0x1p-24;  // of the fp32 sums

template <typename Real>
Spread spread(const std::vector<Real>& tensor, std::int64_t columns) {
  double sum = 0.0;
  double largest_row = 0.0;
  double largest = 0.0;
  for (auto row = tensor.begin(); row != tensor.end(); row += columns) {
    double row_sum = 0.0;
    for (auto x = row; x != row + columns; ++x) {
      const double square = static_cast<double>(*x) * static_cast<double>(*x);
      row_sum += square;
      largest = std::max(largest, square);
    }
    sum += row_sum;
    largest_row = std::max(largest_row, row_sum);
  }
  return {std::sqrt(sum / static_cast<double>(tensor.size())),
          std::sqrt(largest_row / static_cast<double>(columns)), std::sqrt(largest)};
}

/// Of the 2-norms of the rows of a tensor whose elements spread so.
Magnitude row_norm(const Spread& elements, std::int64_t columns) {
  const double root = std::sqrt(static_cast<double>(columns));
  return {elements.rms * root, elements.row_rms * root};
}

/// 2^-24 sqrt(terms)
double sum_error(std::int64_t terms) { return kSumRoundoff * std::sqrt(static_cast<double>(terms)); }

}  // namespace

ExpectedErrors expected_errors(const Problem& problem, const AttentionInputs& inputs,
                               const ExactAttention& exact) {
  const AttentionStatistics& statistics = exact.statistics;
  const double rounding = unit_roundoff(problem.dtype) * std::numbers::inv_sqrt3;
  const double scale = std::abs(static_cast<double>(problem.scale));
  const Spread q = spread(inputs.q, problem.hdim_q);
  const Spread k = spread(inputs.k, problem.hdim_q);
  const Spread v = spread(inputs.v, problem.hdim_v);
  const Spread d_o = spread(inputs.d_o, problem.hdim_v);
  const Spread o = spread(exact.o, problem.hdim_v);
  const Magnitude q_row = row_norm(q, problem.hdim_q);
  const Magnitude d_o_row = row_norm(d_o, problem.hdim_v);
  const std::int64_t queries = problem.seqlen_q * problem.group_size();

  // Of all rows, of the largest, and of the largest element in that.
  struct Sizes {
    double Magnitude::*of_rows;
    double Spread::*of_elements;
  };
  ExpectedErrors errors;
  for (const auto& [row, element] :
       {Sizes{&Magnitude::rms, &Spread::rms}, Sizes{&Magnitude::max, &Spread::row_rms},
        Sizes{&Magnitude::max, &Spread::max}}) {
    const double score =
        sum_error(problem.hdim_q) * scale * q_row.*row * k.rms + kSumRoundoff * statistics.max_abs_score;
    const double lse = score + sum_error(problem.seqlen_k);
    const double relative = std::hypot(rounding, score + lse);
    const double along_keys = std::hypot(relative, sum_error(problem.seqlen_k));
    const double along_queries = std::hypot(relative, sum_error(queries));
    const double along_v = sum_error(problem.hdim_v);

    errors.lse.*element = lse;
    const double o_error = along_keys * statistics.p_row.*row;
    errors.o.*element = o_error * v.*element;
    errors.d.*element = d_o_row.*row * std::hypot(o_error * v.rms, rounding * o.rms, along_v * o.rms);
    const double difference = std::hypot(errors.d.*element, along_v * d_o_row.*row * v.rms);
    errors.dq.*element = scale * k.*element *
                         std::hypot(along_keys * statistics.ds_row.*row, statistics.p_row.*row * difference);
    errors.dk.*element =
        scale * q.*element *
        std::hypot(along_queries * statistics.ds_column.*row, statistics.p_column.*row * difference);
    errors.dv.*element = along_queries * statistics.p_column.*row * d_o.*element;
  }
  return errors;
}

}  // namespace fmha_bwd
