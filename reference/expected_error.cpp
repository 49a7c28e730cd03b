#include "reference/expected_error.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>

#include "base/dropout.h"

namespace fmha_bwd {
namespace {

constexpr double kSumRoundoff = 0x1p-24;  // of the fp32 sums

/// All zero where the tensor has no elements.
template <typename Real>
Spread spread(const std::vector<Real>& tensor, std::int64_t columns) {
  if (tensor.empty()) return {};
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

/// The means of the rows of a tensor; of all rows, and the largest.
template <typename Real>
Magnitude row_mean(const std::vector<Real>& tensor, std::int64_t columns) {
  double squares = 0.0;
  double largest = 0.0;
  for (auto row = tensor.begin(); row != tensor.end(); row += columns) {
    const double mean = std::accumulate(row, row + columns, 0.0) / static_cast<double>(columns);
    squares += mean * mean;
    largest = std::max(largest, std::abs(mean));
  }
  if (tensor.empty()) return {};
  return {std::sqrt(squares * static_cast<double>(columns) / static_cast<double>(tensor.size())), largest};
}

/// What all rows of a tensor share: the rms of the means of its columns.
double column_mean(const std::vector<float>& tensor, std::int64_t columns) {
  if (tensor.empty()) return 0.0;
  std::vector<double> sums(static_cast<std::size_t>(columns));
  for (auto row = tensor.begin(); row != tensor.end(); row += columns) {
    std::transform(sums.begin(), sums.end(), row, sums.begin(), std::plus<>());
  }
  const double squares = std::inner_product(sums.begin(), sums.end(), sums.begin(), 0.0);
  return std::sqrt(squares * static_cast<double>(columns)) / static_cast<double>(tensor.size());
}

/// Of the elements of one row.
double rms_of_row(const std::vector<double>& tensor, std::int64_t row, std::int64_t columns) {
  const auto begin = tensor.begin() + row * columns;
  const double sum = std::inner_product(begin, begin + columns, begin, 0.0);
  return std::sqrt(sum / static_cast<double>(columns));
}

/// Of a sum of products whose factors have these means: its partial sums grow to the whole.
double growth_error(std::int64_t terms, double a_mean, double b_mean) {
  return sum_error(terms) / 3.0 * static_cast<double>(terms) * a_mean * b_mean;
}

/// How many squares of elements of P add up to the square of one of dBias's errors, over the square of a
/// row's norm: the rows of P over the elements of dBias; in the largest row, its share of the pairs summed;
/// and for the largest element, which may be all of its row, those pairs.
Spread dbias_pairs(const Problem& problem) {
  const Shape bias = shape_of(TensorId::dbias, problem);
  if (problem.bias == BiasShape::none || bias.elements() == 0) return {};
  const auto rows = static_cast<double>(shape_of(TensorId::lse, problem).elements());
  const auto summed = static_cast<double>(problem.batch * problem.nhead_q / (bias.batch * bias.head));
  return {rows / static_cast<double>(bias.elements()), summed / static_cast<double>(bias.column), summed};
}

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
  const Magnitude q_mean = row_mean(inputs.q, problem.hdim_q);
  const Magnitude k_mean = row_mean(inputs.k, problem.hdim_q);
  const Magnitude v_mean = row_mean(inputs.v, problem.hdim_v);
  const Magnitude d_o_mean = row_mean(inputs.d_o, problem.hdim_v);
  const Magnitude o_mean = row_mean(exact.o, problem.hdim_v);
  const double q_shared = column_mean(inputs.q, problem.hdim_q);
  const double k_shared = column_mean(inputs.k, problem.hdim_q);
  const Spread dq = spread(exact.dq, problem.hdim_q);
  const Spread dk = spread(exact.dk, problem.hdim_q);
  const Spread dv = spread(exact.dv, problem.hdim_v);
  const Spread dsink = spread(exact.dsink, 1);
  const Magnitude q_row = row_norm(q, problem.hdim_q);
  const Magnitude d_o_row = row_norm(d_o, problem.hdim_v);
  const std::int64_t queries = problem.seqlen_q * problem.group_size();
  const ScoreNorms& rows = statistics.rows;
  const ScoreNorms& columns = statistics.columns;
  const auto keep_scale = static_cast<double>(dropout_draws(problem).keep_scale);
  const Spread pairs_of_dbias = dbias_pairs(problem);
  const std::int64_t rows_of_head = shape_of(TensorId::lse, problem).elements() / problem.nhead_q;

  // Of all rows, of the largest, and of the largest element in that.
  struct Sizes {
    double Magnitude::*of_rows;
    double Spread::*of_elements;
  };
  ExpectedErrors errors;
  for (const auto& [row, element] :
       {Sizes{&Magnitude::rms, &Spread::rms}, Sizes{&Magnitude::max, &Spread::row_rms},
        Sizes{&Magnitude::max, &Spread::max}}) {
    const double score = sum_error(problem.hdim_q) * scale * q_row.*row * k.rms +
                         scale * growth_error(problem.hdim_q, q_mean.*row, k_mean.rms) +
                         kSumRoundoff * statistics.max_score;
    const double lse = score + sum_error(problem.seqlen_k);
    const double shared = lse + kSumRoundoff * std::log1p(static_cast<double>(problem.seqlen_k));
    const double relative = std::hypot(rounding, score + lse);
    const double along_keys = std::hypot(relative, sum_error(problem.seqlen_k));
    const double along_queries = std::hypot(relative, sum_error(queries));
    const double along_v = sum_error(problem.hdim_v);

    errors.lse.*element = lse;
    const double o_error = along_keys * rows.kept.*row;
    errors.o.*element = o_error * v.*element;
    const double d_sum =
        std::hypot(along_v * d_o_row.*row * o.rms, growth_error(problem.hdim_v, d_o_mean.*row, o_mean.rms));
    errors.d.*element = std::hypot(d_o_row.*row * std::hypot(o_error * v.rms, rounding * o.rms), d_sum);
    const double dp = std::hypot(keep_scale * along_v * d_o_row.*row * v.rms,
                                 keep_scale * growth_error(problem.hdim_v, d_o_mean.*row, v_mean.rms));
    const double difference = std::hypot(errors.d.*element, dp);
    const double alike = std::hypot(dp, d_sum);
    const double alike_keys = scale * alike * k_shared * std::sqrt(static_cast<double>(problem.seqlen_k));
    const double alike_queries = scale * alike * q_shared * std::sqrt(static_cast<double>(queries));
    const double slope =
        problem.softcap > 0.0F ? kSumRoundoff + 2.0 * score / static_cast<double>(problem.softcap) : 0.0;
    errors.dq.*element = std::hypot(
        scale * k.*element *
            std::hypot(along_keys * rows.dx.*row, slope * rows.ds.*row, rows.p_slope.*row * difference),
        rows.p_slope.*row * alike_keys, shared * dq.*element);
    errors.dk.*element = std::hypot(scale * q.*element *
                                        std::hypot(along_queries * columns.dx.*row, slope * columns.ds.*row,
                                                   columns.p_slope.*row * difference),
                                    columns.p_slope.*row * alike_queries, shared * dk.*element);
    errors.dv.*element = std::hypot(along_queries * columns.kept.*row * d_o.*element, shared * dv.*element);
    errors.dbias.*element =
        std::sqrt(pairs_of_dbias.*element) * std::hypot(relative * rows.ds.*row, rows.p.*row * difference);
    errors.dsink.*element = std::hypot((lse + sum_error(rows_of_head)) * statistics.sink_p_d.*row,
                                       statistics.sink_p.*row * errors.d.*element, relative * dsink.*element);
    if (element != &Spread::row_rms) continue;
    // D errs by one number in a row, which dQ then has times the sum of P K: no larger than K, and not to be
    // added up in quadrature over the keys.
    for (std::size_t i = 0; i < statistics.query_squares.size(); ++i) {
      const Squares& x = statistics.query_squares[i];
      const double own_o = rms_of_row(exact.o, static_cast<std::int64_t>(i), problem.hdim_v);
      const double own_o_error = along_keys * std::sqrt(x.kept) * v.row_rms;
      const double d = std::hypot(d_o_row.*row * std::hypot(own_o_error, rounding * own_o, along_v * own_o),
                                  growth_error(problem.hdim_v, d_o_mean.*row, own_o));
      errors.rows.o.push_back(own_o_error);
      const double own_dq = rms_of_row(exact.dq, static_cast<std::int64_t>(i), problem.hdim_q);
      errors.rows.dq.push_back(
          std::hypot(scale * k.row_rms *
                         std::hypot(std::hypot(along_keys * std::sqrt(x.dx), slope * std::sqrt(x.ds)),
                                    std::sqrt(x.p_slope) * dp, d),
                     shared * own_dq));
    }
    for (std::size_t j = 0; j < statistics.key_squares.size(); ++j) {
      const Squares& x = statistics.key_squares[j];
      const double own_dk = rms_of_row(exact.dk, static_cast<std::int64_t>(j), problem.hdim_q);
      const double own_dv = rms_of_row(exact.dv, static_cast<std::int64_t>(j), problem.hdim_v);
      errors.rows.dk.push_back(
          std::hypot(scale * q.row_rms *
                         std::hypot(along_queries * std::sqrt(x.dx), slope * std::sqrt(x.ds),
                                    std::sqrt(x.p_slope) * difference),
                     std::sqrt(x.p_slope) * alike_queries, shared * own_dk));
      errors.rows.dv.push_back(std::hypot(along_queries * std::sqrt(x.kept) * d_o.row_rms, shared * own_dv));
    }
  }
  return errors;
}

}  // namespace fmha_bwd
