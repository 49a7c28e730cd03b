#include "src/report/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace fmha_bwd {

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::passed:
      return "passed";
    case Verdict::failed:
      return "failed";
    case Verdict::not_verified:
      return "not_verified";
  }
  return "";
}

Verdict verdict_of(const MaskResult& mask) {
  if (!mask.passed()) return Verdict::failed;
  return mask.verified() ? Verdict::passed : Verdict::not_verified;
}

Verdict verdict_of(const RunResult& run) {
  const auto any = [&run](Verdict verdict) {
    return std::any_of(run.masks.begin(), run.masks.end(),
                       [verdict](const MaskResult& mask) { return verdict_of(mask) == verdict; });
  };
  if (any(Verdict::failed)) return Verdict::failed;
  return run.masks.empty() || any(Verdict::not_verified) ? Verdict::not_verified : Verdict::passed;
}

bool has_wrong_numbers(const MaskResult& mask) {
  const auto any_failed = [](const std::vector<TensorVerdict>& verdicts) {
    return std::any_of(verdicts.begin(), verdicts.end(),
                       [](const TensorVerdict& verdict) { return !verdict.passed; });
  };
  return any_failed(mask.verdicts) || any_failed(mask.third_opinion);
}

bool is_sampled(const RunResult& run) {
  return std::any_of(run.masks.begin(), run.masks.end(),
                     [](const MaskResult& mask) { return mask.sampled.has_value(); });
}

std::string difference_text(const Difference& difference) {
  return fmt::format("{} differs between runs 1 and {}, in {} element{}", name_of(difference.id),
                     difference.run + 1, difference.elements, difference.elements == 1 ? "" : "s");
}

std::string failure_of(const TensorVerdict& verdict, const Numbers& numbers) {
  std::vector<std::string> reasons;
  if (verdict.wrong > 0) {
    reasons.push_back(fmt::format("{} of {} elements are wrong; largest difference {}, allowed {}",
                                  verdict.wrong, verdict.compared, numbers.scientific(verdict.max_diff),
                                  numbers.scientific(verdict.max_diff_budget)));
  }
  if (!(verdict.l2_diff <= verdict.l2_budget) && verdict.wrong == 0) {
    reasons.push_back(fmt::format("no single element is wrong; L2 norm of the difference {}, allowed {}",
                                  numbers.scientific(verdict.l2_diff),
                                  numbers.scientific(verdict.l2_budget)));
  }
  if (verdict.wrong_rows > 0 && verdict.wrong == 0) {
    reasons.push_back(
        fmt::format("{} rows are wrong as a whole, the worst by {:.0f} times what it is allowed",
                    verdict.wrong_rows, verdict.row_share));
  }
  if (verdict.unwritten > 0) {
    reasons.push_back(fmt::format("{} NaNs outside of the sample", verdict.unwritten));
  }
  if (verdict.guard_damaged)
    reasons.emplace_back("a kernel wrote after the tensor's end or into its padding");
  if (reasons.empty()) return "failed";
  return fmt::format("{}", fmt::join(reasons, "; "));
}

std::string conclusion(const RunResult& run) {
  const std::size_t total = run.masks.size();
  const char* masks = total == 1 ? "mask" : "masks";
  const auto failed = std::count_if(run.masks.begin(), run.masks.end(),
                                    [](const MaskResult& mask) { return !mask.passed(); });
  const auto wrong = std::count_if(run.masks.begin(), run.masks.end(), has_wrong_numbers);
  switch (verdict_of(run)) {
    case Verdict::passed:
      return fmt::format("passed: {} of {} {} {} with the fp64 reference{}", total, total, masks,
                         total == 1 ? "agrees" : "agree", is_sampled(run) ? " on a sample of rows" : "");
    case Verdict::failed:
      return fmt::format("FAILED: {} of {} {} with {}", failed, total, masks,
                         wrong == failed ? "wrong numbers"
                         : wrong == 0    ? "runs that differ"
                                         : "wrong numbers or runs that differ");
    case Verdict::not_verified:
      return total == 0 ? "nothing ran" : fmt::format("not verified: {} {} ran unchecked", total, masks);
  }
  return "";
}

}  // namespace fmha_bwd
