#include "src/bench/case_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/peak.h"
#include "src/bench/subjects.h"
#include "src/device_choice.h"
#include "src/kernel_choice.h"
#include "src/progress.h"
#include "src/run.h"

namespace fmha_bwd {
namespace {

constexpr std::size_t kMostOpen = 64;

/// "dK: max diff 1.2e-3, allowed 1e-4".
std::string failure_text(const MaskResult& mask) {
  for (const auto* opinion : {&mask.verdicts, &mask.third_opinion}) {
    for (const TensorVerdict& verdict : *opinion) {
      if (verdict.passed) continue;
      return fmt::format("wrong numbers: {} has {} wrong of {} elements, max diff {:.3e} (allowed {:.3e})",
                         name_of(verdict.id), verdict.wrong, verdict.compared, verdict.max_diff,
                         verdict.max_diff_budget);
    }
  }
  return "wrong numbers";
}

}  // namespace

CaseRuns::CaseRuns(const BenchOptions& options, const Decorate& decorate)
    : options_(options), decorate_(decorate), turns_(Turns::of_this_process()) {}

Backend& CaseRuns::backend(const std::string& device, const std::optional<std::string>& arch) {
  if (platforms_.empty()) platforms_ = platforms();
  const DeviceChoice choice = choose_device(device, arch, platforms_);
  std::unique_ptr<Backend>& opened = backends_[{choice.platform, choice.index}];
  if (!opened) {
    opened = open_backend(choice.platform, choice.index);
    if (decorate_) opened = decorate_(std::move(opened));
  }
  return *opened;
}

Round CaseRuns::round(const PlannedCase& planned, BenchCase& item, ClockWatch* watch) {
  if (!verified_.contains(item.name)) verify(planned, item);
  verified_.insert(item.name);
  const SamplerSettings settings = options_.sampler();
  Subject& subject = subject_of(planned, item);
  if (watch == nullptr) return sample_round(subject, settings);
  watch->start();
  Round round = sample_round(subject, settings, watch);
  watch->stop();
  return round;
}

void CaseRuns::verify(const PlannedCase& planned, BenchCase& item) {
  if (planned.operation != Operation::backward) {
    item.kernel = planned.operation == Operation::exact_reference ? "exact" : "textbook";
    item.verification = "none";  // it is what others are verified against
    return;
  }
  try {
    verify_on_device(planned, item);
  } catch (const Error& error) {
    if (error.code() != ExitCode::device_error || subjects_.empty()) throw;
    subjects_.clear();  // memory may have been short
    verify_on_device(planned, item);
  }
}

void CaseRuns::verify_on_device(const PlannedCase& planned, BenchCase& item) {
  Backend& backend = backend_of(planned);
  Options options = planned.options;
  options.warmup = 0;
  options.repeat = 1;
  Progress no_progress;
  const RunOutcome outcome = run(options, backend, "", no_progress);
  const MaskResult& mask = outcome.result.masks.front();
  item.kernel = mask.kernel;
  item.device_index = backend.device().index;
  item.input_checksum = fmt::format("{:016x}", outcome.result.input_checksum);
  item.verification = outcome.result.verification;
  item.peak_flops = peak_flops(backend.device(), options.problem.dtype);
  if (!outcome.result.passed()) throw Error(ExitCode::wrong_numbers, failure_text(mask));
}

Subject& CaseRuns::subject_of(const PlannedCase& planned, const BenchCase& item) {
  if (const auto found = subjects_.find(item.name); found != subjects_.end()) return *found->second;
  if (subjects_.size() >= kMostOpen) subjects_.clear();
  const auto open = [&] {
    auto opened = planned.operation == Operation::backward
                      ? device_subject(planned, backend_of(planned), item.kernel, options_.cache)
                      : reference_subject(planned);
    return turns_ ? in_turn(std::move(opened), *turns_) : std::move(opened);
  };
  std::unique_ptr<Subject> subject;
  try {
    subject = open();
  } catch (const Error& error) {
    if (error.code() != ExitCode::device_error || subjects_.empty()) throw;
    subjects_.clear();  // memory may have been short
    subject = open();
  }
  return *(subjects_[item.name] = std::move(subject));
}

}  // namespace fmha_bwd
