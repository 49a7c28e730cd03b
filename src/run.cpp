#include "src/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "kernels/emulator_stats.h"
#include "reference/parallel.h"
#include "reference/simd/tiles.h"
#include "src/determinism.h"
#include "src/files/whole_file.h"
#include "src/judge.h"
#include "src/kernel_choice.h"
#include "src/measure.h"
#include "src/outputs.h"
#include "src/run_inputs.h"
#include "src/saved_case.h"
#include "src/summary.h"
#include "src/third_opinion.h"
#include "src/verification_plan.h"
#include "src/version.h"

namespace fmha_bwd {
namespace {

struct Passes {
  std::int64_t warmup;
  std::int64_t repeat;
};

/// The emulator's time is not worth waiting for twice.
Passes passes_for(const Options& options, bool emulated) {
  return {options.warmup.value_or(emulated ? 0 : 10), options.repeat.value_or(emulated ? 1 : 30)};
}

using Gradients = std::vector<std::vector<float>>;  // in the order of gradients_of

class Run {
 public:
  Run(const Options& options, Backend& backend, std::string device_reason, Progress& progress)
      : options_(options),
        problem_(options.problem),
        backend_(backend),
        progress_(progress),
        plan_(plan_verification(options, default_threads(),
                                static_cast<double>(lanes_fp64()) * kFlopsPerSecondAndLane)),
        inputs_(options) {
    const Device& device = backend.device();
    if (device.emulated && options_.device == "auto") options_.device = "emulator";
    result_.version = version();
    result_.problem = problem_;
    result_.fill = options.fill;
    result_.loaded = inputs_.loaded();
    result_.platform = device.platform;
    result_.device_name = device.name;
    result_.device_index = device.index;
    result_.arch = device.arch;
    result_.device_reason = std::move(device_reason);
    result_.emulated = device.emulated;
    result_.verification = name_of(plan_.how);
    result_.verification_reason = plan_.reason;
    // Another machine might choose otherwise, unless the problem is far from the limit.
    if (plan_.how == VerifyHow::sample) {
      options_.verify = plan_.how;
      options_.sample_rows = plan_.rows;
    } else if (plan_.full_seconds > kFullLimitSeconds / 10.0) {
      options_.verify = plan_.how;
    }
    for (const MaskSpec& mask : options.masks) kernels_.push_back(choose_kernel(options, mask, backend));
    if (options.save) check_folder(*options.save, "--save");
    if (options.save_on_failure) check_folder(*options.save_on_failure, "--save-on-failure");
  }

  RunOutcome all_masks() {
    const auto masks = static_cast<std::int64_t>(options_.masks.size());
    const bool asks_device = options_.reference == ReferenceOn::device;
    progress_.expect(1 + masks * (2 + (options_.verifies() ? 1 : 0) + (asks_device ? 1 : 0) +
                                  (options_.check_determinism ? 1 : 0)));
    progress_.step("inputs");
    open(kernels_.front().name);
    for (std::size_t i = 0; i < options_.masks.size(); ++i) {
      open(kernels_[i].name);
      result_.masks.push_back(one_mask(options_.masks[i], kernels_[i]));
    }
    compare_with_no_mask();
    return {std::move(result_), std::move(unsaved_)};
  }

 private:
  std::function<void(double)> told() {
    return [this](double fraction) { progress_.update(fraction); };
  }

  /// A session of that family; the tensors of another's are gone by then, since both may not fit.
  void open(const std::string& kernel) {
    if (session_ && kernel == opened_) return;
    const bool first = !session_;
    session_.reset();
    session_ = backend_.open(problem_, kernel);
    opened_ = kernel;
    inputs_.place_in(*session_);
    if (first) {
      result_.input_checksum = inputs_.check(*session_, options_.verifies());
      return;
    }
    const std::uint64_t checksum = inputs_.checksum(*session_);
    if (checksum == result_.input_checksum) return;
    throw Error(
        ExitCode::wrong_numbers,
        fmt::format("{} has other inputs than the kernel before it: checksum {:016x} instead of {:016x}",
                    kernel, checksum, result_.input_checksum));
  }

  MaskResult one_mask(const MaskSpec& mask, const KernelChoice& kernel) {
    MaskResult result;
    result.mask = mask;
    result.kernel = kernel.name;
    result.kernel_reason = kernel.reason;
    result.counts = count(mask.rule(), problem_);
    result.flops = backward_flops(problem_, result.counts.visible_pairs);
    result.command = reproducing_command(options_, mask);

    const std::string name = name_of(mask);
    progress_.step(fmt::format("{}: {} on {}", name, kernel.name, result_.platform));
    session_->poison_outputs();
    result.emulator_stats = verified_pass(mask);
    const Outputs outputs(*session_, problem_);
    summarize_outputs(outputs, result);

    std::optional<Reference> reference;
    if (options_.verifies()) {
      progress_.step(fmt::format("{}: reference", name));
      reference =
          planned_reference(plan_, problem_, mask, inputs_.values(), outputs, options_.fill.seed, told());
      judge(problem_, outputs, *reference, result);
    }
    if (reference && options_.reference == ReferenceOn::device) {
      progress_.step(fmt::format("{}: the device's reference", name));
      if (!third_opinion_) {
        third_opinion_ = std::make_unique<ThirdOpinion>(problem_, options_.masks, backend_, inputs_.values());
      }
      third_opinion_->compare_with(outputs, *reference, result);
    }
    if (options_.check_determinism) {
      progress_.step(fmt::format("{}: determinism", name));
      result.determinism = check_determinism(*session_, problem_, mask, *options_.check_determinism, told());
    }
    save(outputs, reference ? &*reference : nullptr, result);
    refuse_other_damage(outputs, result);

    progress_.step(fmt::format("{}: timing", name));
    if (result.passed()) {
      const Passes passes = passes_for(options_, result_.emulated);
      result.timing = measure(*session_, problem_, mask, result.counts, passes.warmup, passes.repeat, told());
    }
    return result;
  }

  /// What was counted in it, where that was asked for.
  std::optional<std::vector<SharedAccessSite>> verified_pass(const MaskSpec& mask) {
    std::optional<EmulatorStats> stats;
    if (options_.emulator_stats) stats.emplace();
    session_->forward(mask);
    session_->backward(mask);
    if (!stats) return std::nullopt;
    return stats->take();
  }

  void summarize_outputs(const Outputs& outputs, MaskResult& result) {
    Gradients gradients;
    for (const TensorId id : gradients_of(problem_)) {
      gradients.push_back(values_of(outputs.of(id)));
      result.gradients.push_back(summarize(id, gradients.back()));
    }
    result.d_range = extent_of(values_of(outputs.of(TensorId::d)));
    gradients_.push_back(std::move(gradients));
  }

  void save(const Outputs& outputs, const Reference* reference, const MaskResult& result) {
    const auto into = [&](const std::string& folder, const char* option) {
      try {
        save_case(folder, options_, result.mask, *session_, outputs, reference, option);
      } catch (const Error& error) {
        unsaved_ = error;
      }
    };
    if (options_.save) into(*options_.save, "--save");
    if (options_.save_on_failure && !result.passed() && result_.passed()) {
      into(*options_.save_on_failure, "--save-on-failure");
    }
  }

  /// A write past a tensor that no verdict speaks of.
  static void refuse_other_damage(const Outputs& outputs, const MaskResult& result) {
    for (const TensorId id : outputs.damaged()) {
      const bool judged = std::any_of(result.verdicts.begin(), result.verdicts.end(),
                                      [&](const TensorVerdict& verdict) { return verdict.id == id; });
      if (judged) continue;
      throw Error(ExitCode::wrong_numbers,
                  fmt::format("{}: a kernel wrote past the end or into the padding of {}; {}",
                              name_of(result.mask), name_of(id), result.command));
    }
  }

  void compare_with_no_mask() {
    const auto base = std::find(options_.masks.begin(), options_.masks.end(), kNoMask);
    if (base == options_.masks.end()) return;
    const Gradients& unmasked = gradients_[static_cast<std::size_t>(base - options_.masks.begin())];
    for (std::size_t m = 0; m < result_.masks.size(); ++m) {
      if (result_.masks[m].mask == kNoMask) continue;
      for (std::size_t i = 0; i < unmasked.size(); ++i) {
        result_.masks[m].gradients[i].max_diff_to_no_mask = max_difference(gradients_[m][i], unmasked[i]);
      }
    }
  }

  Options options_;  // as the commands tell them: with the emulator by name, where it was chosen
  const Problem& problem_;
  Backend& backend_;
  Progress& progress_;
  VerificationPlan plan_;
  RunInputs inputs_;
  RunResult result_;
  std::vector<KernelChoice> kernels_;  // one a mask
  std::string opened_;                 // the session's family
  std::unique_ptr<Session> session_;
  std::unique_ptr<ThirdOpinion> third_opinion_;
  std::vector<Gradients> gradients_;  // one a mask
  std::optional<Error> unsaved_;
};

}  // namespace

RunOutcome run(const Options& options, Backend& backend, const std::string& device_reason,
               Progress& progress) {
  return Run(options, backend, device_reason, progress).all_masks();
}

}  // namespace fmha_bwd
