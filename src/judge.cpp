#include "src/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/error.h"
#include "reference/sample.h"

namespace fmha_bwd {
namespace {

/// There is no right answer where the textbook's overflows: a kernel may be better, and need not be.
void refuse_overflow(const Reference& reference, const Problem& problem, const MaskSpec& mask) {
  for (const TensorId id : outputs_of(problem)) {
    const std::vector<double>& exact = reference.exact.of(id);
    const std::vector<float>& textbook = reference.textbook.of(id);
    std::int64_t overflown = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      if (std::isfinite(exact[i]) && !std::isfinite(textbook[i])) ++overflown;
    }
    if (overflown == 0) continue;
    const std::string_view dtype = name_of(problem.dtype);
    throw Error(ExitCode::bad_usage,
                fmt::format("--mask: {} has {} of {} elements of {} that are not finite when computed in {}; "
                            "allowed are --std, --fill, --scale and loaded inputs whose results {} can hold",
                            name_of(mask), overflown, exact.size(), name_of(id), dtype, dtype));
  }
}

}  // namespace

Reference planned_reference(const VerificationPlan& plan, const Problem& problem, const MaskSpec& mask,
                            const AttentionInputs& inputs, const Outputs& outputs, std::uint64_t seed,
                            const std::function<void(double)>& progress) {
  const Workers workers = {.threads = 0, .progress = progress};
  if (plan.how == VerifyHow::full) {
    Reference reference = reference_for(problem, mask, inputs, workers);
    refuse_overflow(reference, problem, mask);
    return reference;
  }
  const KnownLseAndD known = {values_of(outputs.of(TensorId::lse)), values_of(outputs.of(TensorId::d))};
  Reference reference =
      sampled_reference(problem, mask, inputs, choose_sample(problem, mask, plan.rows, seed), known, workers);
  // What a kernel left unwritten in LSE or D is its own fault, and no overflow.
  const auto finite = [](float x) { return !std::isnan(x); };
  if (std::all_of(known.lse.begin(), known.lse.end(), finite) &&
      std::all_of(known.d.begin(), known.d.end(), finite)) {
    refuse_overflow(reference, problem, mask);
  }
  return reference;
}

void judge(const Problem& problem, const Outputs& outputs, const Reference& reference, MaskResult& result) {
  result.p_sparsity = reference.exact.statistics.p_sparsity;
  if (reference.sample) result.sampled = sampled_rows(*reference.sample);
  for (const TensorId id : outputs_of(problem)) {
    TensorVerdict verdict = verify(id, outputs.of(id), reference);
    verdict.guard_damaged = outputs.damaged(id);
    verdict.passed = verdict.passed && !verdict.guard_damaged;
    result.verdicts.push_back(std::move(verdict));
  }
}

}  // namespace fmha_bwd
