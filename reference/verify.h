// Judges a tensor that a kernel computed against the fp64 truth.
//
// A fixed tolerance is worthless here: with common inputs max|dQ| is 3e-3, so that zeros would pass 1e-2.
// Each tensor has a budget of its own, made from the same data,
//
//     max |error|  <=  kMaxFactor * max(textbook's max |error|, expected) + subnormal
//     ||error||_2  <=  kL2Factor * max(textbook's ||error||_2, expected * sqrt(elements))
//                      + expected of the largest row * sqrt(columns) + subnormal * sqrt(elements)
//
//     ||error of a row||_2  <=  kRowFactor * max(textbook's in that row, expected of that row *
//     sqrt(columns))
//                               + subnormal * sqrt(columns)
//
// The last is for O, dQ, dK and dV of at least kLeastColumnsOfRows columns, and sees what the others do not:
// one bad row among very many, or one whose numbers are small beside others', as those of late rows under a
// causal mask are.
//
// The textbook implementation in the kernel's type (reference/attention.h) rounds where kernels round. A
// correct kernel also rounds in other places and sums in another order, so that its errors are other draws of
// about the same size. The 2-norm averages over all elements and is nearly the same in every draw, while the
// largest error is an extreme and varies more: hence two factors. `expected` is the estimate of
// reference/expected_error.h together with the output's own rounding, u/sqrt(3) of the truth's size, and
// decides where the textbook's error is small by luck; the largest row's term is for tensors of so few rows
// that one of them decides the 2-norm. Since both factors exceed sqrt(3), the truth rounded to the type
// always passes. `subnormal` is the error of rounding near zero.
//
// Measured with a million tensors of kernel-like implementations (tests/reference/naive_attention.h), from
// 1 x 1 to 1 x 1000 and 512 x 512, all types, standard deviations 0.1, 1 and 3: none is outside its budget.
// Nor is one of another million with the features of tests/reference/feature_cases.h, from 5 x 6 to 45 x 54
// and with head dimensions from 3 to 128, with those standard deviations and with the other fills. On 64 x 64
// x 128 the textbook takes about a third of its budgets, and a gradient scaled by 1.002 (fp16) or 1.01 (bf16)
// is outside one of them.
//
// An element whose truth rounds to infinity must be that infinity. A NaN fails, and so does every tensor
// whose budget is not finite: there the type is too small for the data and nothing can be said.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/tensor.h"
#include "reference/attention.h"
#include "reference/expected_error.h"
#include "reference/sample.h"
#include "reference/sampled_attention.h"

namespace fmha_bwd {

inline constexpr double kMaxFactor = 3.0;
inline constexpr double kL2Factor = 2.0;
inline constexpr double kRowFactor = 4.0;
inline constexpr std::int64_t kLeastColumnsOfRows = 16;
inline constexpr std::size_t kWorstShown = 8;

/// `truth` and `textbook` hold actual.shape.elements() values, `expected_rows` one for each row, or none: a
/// row is then measured by the larger of its own share of the budget of ||error||_2 and that of a typical
/// row. Throws std::invalid_argument otherwise. guard_damaged is left false.
TensorVerdict verify(TensorId id, const HostTensor& actual, const std::vector<double>& truth,
                     const std::vector<float>& textbook, const Spread& expected,
                     const std::vector<double>& expected_rows = {});

/// All that the outputs of one problem under one mask are judged by.
struct Reference {
  ExactAttention exact;
  TextbookAttention textbook;
  ExpectedErrors expected;
  std::optional<Sample> sample;  // the rows that those have; nothing: all

  /// The rows of an output that stand in exact and textbook; nullptr where all do.
  const std::vector<std::int64_t>* rows_of(TensorId id) const;
};

Reference reference_for(const Problem& problem, const MaskSpec& mask, const AttentionInputs& inputs,
                        const Workers& workers = {});

/// For the rows of a sample alone. `known` is what the device has, of all rows.
Reference sampled_reference(const Problem& problem, const MaskSpec& mask, const AttentionInputs& inputs,
                            Sample sample, const KnownLseAndD& known, const Workers& workers = {});

/// One of outputs_of(problem) against the reference. Of a sample, the rows that were not computed are looked
/// through for NaN: an element that no kernel wrote is wrong wherever it is.
TensorVerdict verify(TensorId id, const HostTensor& actual, const Reference& reference);

inline constexpr double kOtherImplementation = 1.25;

/// One of outputs_of(problem) against another implementation's, of all rows, by the budgets of verify() times
/// kOtherImplementation, which leaves room for the other's own errors, since a correct implementation takes
/// about a third of its budget. `reference` has all rows. Throws std::invalid_argument where the shapes
/// differ.
TensorVerdict compare(TensorId id, const HostTensor& actual, const std::vector<float>& other,
                      const Reference& reference);

/// The same beside a reference that has some of the rows. `judged` is what verify() said of the same tensor:
/// its budgets are taken in proportion to the size of the tensor and of the part that was compared; for a
/// row, as where nothing is known of it. That leaves room for extremes that a sample has not seen, too.
TensorVerdict compare(TensorId id, const HostTensor& actual, const std::vector<float>& other,
                      const TensorVerdict& judged);

}  // namespace fmha_bwd
