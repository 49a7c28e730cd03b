// What a run found out, for the reports to print. Plain data, no behaviour.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fill.h"
#include "base/mask_spec.h"
#include "base/problem.h"
#include "base/shared_access_site.h"
#include "base/tensor.h"
#include "base/work.h"

namespace fmha_bwd {

struct Extent {
  double min = 0.0;
  double max = 0.0;
};

/// Of one gradient as the device computed it.
struct GradientSummary {
  TensorId id = TensorId::dq;
  double mean_abs = 0.0;
  double l2_norm = 0.0;
  Extent range;
  std::optional<double> max_diff_to_no_mask;  // largest |difference|; nothing where no_mask was not run
};

/// One wrong element.
struct Mismatch {
  Shape index;
  double actual = 0.0;
  double expected = 0.0;
};

/// One tensor against a reference, the fp64 one unless said otherwise. Each error is allowed its budget;
/// `passed` is max_diff <= max_diff_budget and l2_diff <= l2_budget and no element outside them, so that a
/// NaN fails.
struct TensorVerdict {
  TensorId id = TensorId::dq;
  bool passed = false;
  double max_diff = 0.0;
  double max_diff_budget = 0.0;
  double l2_diff = 0.0;
  double l2_budget = 0.0;
  double reference_l2 = 0.0;
  double reference_max = 0.0;
  std::int64_t elements = 0;
  std::int64_t compared = 0;    // of the elements: all, or those of the sampled rows
  std::int64_t unwritten = 0;   // NaNs among the elements that were not compared
  std::int64_t wrong = 0;       // of these, with !(|error| <= max_diff_budget)
  std::int64_t wrong_rows = 0;  // rows whose errors are too large for them
  double row_share = 0.0;       // the largest share that a row's errors take of what it is allowed
  std::vector<Mismatch> worst;  // of the wrong ones, the largest errors first, a few
  bool guard_damaged = false;   // something was written after the tensor's end

  /// ||error|| / ||reference||; nothing where the reference is zero.
  std::optional<double> relative_l2() const {
    if (reference_l2 == 0.0) return std::nullopt;
    return l2_diff / reference_l2;
  }
  /// Whether passing says something: false where rounding may be as large as the tensor, so that zeros would
  /// pass.
  bool conclusive() const { return reference_l2 == 0.0 || l2_budget < reference_l2; }
  /// The largest of the errors' shares of their budgets; 1 is the limit.
  double budget_share() const {
    const double by_max = max_diff_budget > 0.0 ? max_diff / max_diff_budget : (max_diff == 0.0 ? 0.0 : 1e9);
    const double by_l2 = l2_budget > 0.0 ? l2_diff / l2_budget : (l2_diff == 0.0 ? 0.0 : 1e9);
    const double larger = by_max > by_l2 ? by_max : by_l2;
    return row_share > larger ? row_share : larger;
  }
};

/// Milliseconds, the medians over `samples` backward passes, and the rates that follow from the total.
struct Timing {
  std::int64_t warmup = 0;
  std::int64_t samples = 0;
  double zero_dq_ms = 0.0;
  double dot_do_o_ms = 0.0;
  double dq_dk_dv_ms = 0.0;
  double convert_dq_ms = 0.0;
  double total_ms = 0.0;
  double total_min_ms = 0.0;
  double total_max_ms = 0.0;
  double tflops = 0.0;        // exact visible pairs
  double tflops_dense = 0.0;  // all pairs, as some tools print it
};

/// The first element that differed between two runs.
struct Difference {
  TensorId id = TensorId::dq;
  std::int64_t run = 0;  // from 1, compared with run 0
  Shape index;
  double first = 0.0;  // in run 0
  double other = 0.0;
  std::int64_t elements = 0;  // of this tensor, how many differ in this run
};

/// Repeated backward passes compared bit by bit.
struct Determinism {
  std::int64_t runs = 0;
  bool required = false;  // the problem is deterministic: a difference is an error
  std::optional<Difference> difference;
};

/// Rows of a kind (reference/sample.h), and how many of them were verified.
struct RowClass {
  std::string_view name;
  std::int64_t rows = 0;
  std::int64_t sampled = 0;
};

/// The share of the rows for which a sample says how easily a fault in them is missed.
inline constexpr double kFaultShare = 0.001;

/// The rows of one side's tensors that were verified, and the chances that faults in others are missed.
struct SampledSide {
  std::vector<RowClass> classes;
  double boundary_missed = 0.0;  // a fault in one row at a tile's boundary; at most
  double share_missed = 0.0;     // one in kFaultShare of the rows, wherever they are; at most
};

struct SampledRows {
  SampledSide queries;  // rows of O, LSE, D and dQ
  SampledSide keys;     // of dK and dV
  std::optional<SampledSide> bias;
};

struct MaskResult {
  MaskSpec mask;
  std::string kernel;         // the family that computed it
  std::string kernel_reason;  // why that one
  MaskCounts counts;
  double flops = 0.0;                      // of the backward pass over the visible pairs
  std::vector<GradientSummary> gradients;  // in the order of gradients_of
  Extent d_range;
  std::optional<double> p_sparsity;     // share of all (sampled) pairs with P < 1e-9; from the reference
  std::vector<TensorVerdict> verdicts;  // empty with --verify none
  std::optional<SampledRows> sampled;   // nothing where all rows were verified, or none
  // Against the device's fp32 reference, with --reference device.
  std::vector<TensorVerdict> third_opinion;
  std::optional<Determinism> determinism;  // with --check-determinism
  // Of one forward and one backward pass, with --emulator-stats.
  std::optional<std::vector<SharedAccessSite>> emulator_stats;
  std::optional<Timing> timing;  // nothing for a problem that failed its verification
  std::string command;           // the shortest that reproduces this mask's result

  bool verified() const { return !verdicts.empty(); }
  /// A difference between runs is a failure only where the problem asked for none: see determinism.
  bool passed() const {
    if (determinism && determinism->required && determinism->difference) return false;
    for (const std::vector<TensorVerdict>* opinion : {&verdicts, &third_opinion}) {
      for (const TensorVerdict& verdict : *opinion) {
        if (!verdict.passed) return false;
      }
    }
    return true;
  }
};

struct RunResult {
  std::string version;
  Problem problem;
  Fill fill;
  std::vector<TensorId> loaded;  // inputs that came from files
  std::uint64_t input_checksum = 0;

  std::string platform;
  std::string device_name;
  int device_index = 0;
  std::string arch;
  std::string device_reason;  // why this device was chosen
  bool emulated = false;

  std::string verification;         // "full", "sample" or "none"
  std::string verification_reason;  // why

  std::vector<MaskResult> masks;

  bool passed() const {
    for (const MaskResult& mask : masks) {
      if (!mask.passed()) return false;
    }
    return true;
  }
};

}  // namespace fmha_bwd
