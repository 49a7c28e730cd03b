#include "reference/expected_error.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace fmha_bwd {
namespace {

constexpr double kSumRoundoff = 0x1p-24;  // of the fp32 sums

/// Of the 2-norms of the rows of a tensor; of its elements where it has one column.
template <typename Real>
Magnitude magnitude(const std::vector<Real>& tensor, std::int64_t columns = 1) {
  double sum = 0.0;
  double largest = 0.0;
  for (auto row = tensor.begin(); row != tensor.end(); row += columns) {
    double squared_norm = 0.0;
    for (auto x = row; x != row + columns; ++x) {
      squared_norm += static_cast<double>(*x) * static_cast<double>(*x);
    }
    sum += squared_norm;
    largest = std::max(largest, squared_norm);
  }
  const auto rows = static_cast<double>(tensor.size()) / static_cast<double>(columns);
  return {std::sqrt(sum / rows), std::sqrt(largest)};
}

/// 2^-24 sqrt(terms)
double sum_error(std::int64_t terms) { return kSumRoundoff * std::sqrt(static_cast<double>(terms)); }

}  // namespace

const Magnitude& ExpectedErrors::of(TensorId id) const {
  switch (id) {
    case TensorId::o:
      return o;
    case TensorId::lse:
      return lse;
    case TensorId::d:
      return d;
    case TensorId::dq:
      return dq;
    case TensorId::dk:
      return dk;
    case TensorId::dv:
      return dv;
    default:
      throw std::invalid_argument("expected_errors: an input is not an output");
  }
}

ExpectedErrors expected_errors(const Problem& problem, const AttentionInputs& inputs,
                               const ExactAttention& exact) {
  const AttentionStatistics& statistics = exact.statistics;
  const double rounding = unit_roundoff(problem.dtype) * std::numbers::inv_sqrt3;
  const double scale = std::abs(static_cast<double>(problem.scale));
  const Magnitude q = magnitude(inputs.q);
  const Magnitude k = magnitude(inputs.k);
  const Magnitude v = magnitude(inputs.v);
  const Magnitude d_o = magnitude(inputs.d_o);
  const Magnitude o = magnitude(exact.o);
  const Magnitude q_row = magnitude(inputs.q, problem.hdim_q);
  const Magnitude d_o_row = magnitude(inputs.d_o, problem.hdim_v);
  const std::int64_t queries = problem.seqlen_q * problem.group_size();

  ExpectedErrors errors;
  for (double Magnitude::*const size : {&Magnitude::rms, &Magnitude::max}) {
    const double score =
        sum_error(problem.hdim_q) * scale * q_row.*size * k.rms + kSumRoundoff * statistics.max_abs_score;
    const double lse = score + sum_error(problem.seqlen_k);
    const double relative = std::hypot(rounding, score + lse);
    const double along_keys = std::hypot(relative, sum_error(problem.seqlen_k));
    const double along_queries = std::hypot(relative, sum_error(queries));
    const double along_v = sum_error(problem.hdim_v);

    errors.lse.*size = lse;
    const double o_error = along_keys * statistics.p_row.*size;
    errors.o.*size = o_error * v.*size;
    errors.d.*size = d_o_row.*size * std::hypot(o_error * v.rms, rounding * o.rms, along_v * o.rms);
    const double difference = std::hypot(errors.d.*size, along_v * d_o_row.*size * v.rms);
    errors.dq.*size = scale * k.*size *
                      std::hypot(along_keys * statistics.ds_row.*size, statistics.p_row.*size * difference);
    errors.dk.*size =
        scale * q.*size *
        std::hypot(along_queries * statistics.ds_column.*size, statistics.p_column.*size * difference);
    errors.dv.*size = along_queries * statistics.p_column.*size * d_o.*size;
  }
  return errors;
}

}  // namespace fmha_bwd
