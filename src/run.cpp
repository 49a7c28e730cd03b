#include "src/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "reference/verify.h"
#include "src/measure.h"
#include "src/summary.h"
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

struct KernelChoice {
  std::string name;
  std::string reason;
};

KernelChoice choose_kernel(const Options& options, const Backend& backend) {
  std::string refusals;
  std::string names;
  for (const KernelSupport& support : backend.kernels(options.problem)) {
    names += ", " + support.kernel;
    const bool wanted = options.kernel == "auto" || options.kernel == support.kernel;
    if (!wanted) continue;
    if (!support.refusal) {
      return {support.kernel,
              options.kernel == "auto" ? "the fastest that supports the problem" : "asked for"};
    }
    refusals += fmt::format("{}{}: {}", refusals.empty() ? "" : "; ", support.kernel, *support.refusal);
  }
  if (refusals.empty()) {
    throw Error(ExitCode::bad_usage,
                fmt::format("--kernel: '{}' is not allowed; one of auto, list{}", options.kernel, names));
  }
  throw Error(ExitCode::unsupported, fmt::format("no kernel supports the problem ({})", refusals));
}

/// What the device wrote under one mask.
class Outputs {
 public:
  explicit Outputs(Session& session) : damaged_(session.damaged_guards()) {
    for (const TensorId id : kOutputs) tensors_.emplace_back(id, session.download(id));
  }

  const HostTensor& of(TensorId id) const {
    return std::find_if(tensors_.begin(), tensors_.end(),
                        [&](const auto& entry) { return entry.first == id; })
        ->second;
  }
  bool damaged(TensorId id) const {
    return std::find(damaged_.begin(), damaged_.end(), id) != damaged_.end();
  }
  const std::vector<TensorId>& damaged() const { return damaged_; }

 private:
  std::vector<TensorId> damaged_;
  std::vector<std::pair<TensorId, HostTensor>> tensors_;
};

using Gradients = std::array<std::vector<float>, kGradients.size()>;

class Run {
 public:
  Run(const Options& options, Backend& backend, std::string device_reason, Progress& progress)
      : options_(options), backend_(backend), progress_(progress) {
    const Device& device = backend.device();
    const KernelChoice kernel = choose_kernel(options, backend);
    result_.version = version();
    result_.problem = options.problem;
    result_.fill = options.fill;
    result_.platform = device.platform;
    result_.device_name = device.name;
    result_.device_index = device.index;
    result_.arch = device.arch;
    result_.device_reason = std::move(device_reason);
    result_.emulated = device.emulated;
    result_.kernel = kernel.name;
    result_.kernel_reason = kernel.reason;
  }

  RunResult all_masks() {
    const auto masks = static_cast<std::int64_t>(options_.masks.size());
    progress_.expect(1 + masks * (options_.verify ? 3 : 2));
    progress_.step("inputs");
    session_ = backend_.open(options_.problem, result_.kernel);
    session_->fill_inputs(options_.fill);
    check_inputs();
    for (const MaskKind kind : options_.masks) result_.masks.push_back(one_mask(kind));
    compare_with_no_mask();
    return std::move(result_);
  }

 private:
  std::function<void(double)> told() {
    return [this](double fraction) { progress_.update(fraction); };
  }

  /// There is no right answer to inputs that the type cannot hold.
  void refuse_infinite(TensorId id, const std::vector<float>& values) const {
    const auto infinite =
        std::count_if(values.begin(), values.end(), [](float x) { return !std::isfinite(x); });
    if (infinite == 0) return;
    throw Error(
        ExitCode::bad_usage,
        fmt::format("--std: {} makes {} of {} elements of {} infinite in {}; allowed is what {} can hold",
                    options_.fill.standard_deviation, infinite, values.size(), name_of(id),
                    name_of(options_.problem.dtype), name_of(options_.problem.dtype)));
  }

  /// What computes a mask's result again, on this kind of device.
  std::string command_for(MaskKind kind) const {
    Options again = options_;
    if (again.device == "auto" && result_.emulated) again.device = "emulator";
    return reproducing_command(again, kind);
  }

  /// Keeps the device's inputs for the reference, after a look that they are what the CPU draws.
  void check_inputs() {
    Checksum on_device;
    Checksum on_cpu;
    for (const TensorId id : kInputs) {
      const HostTensor tensor = session_->download(id);
      on_device.add(tensor);
      std::vector<float> drawn = values_of(tensor);
      refuse_infinite(id, drawn);
      if (!options_.verify) continue;
      on_cpu.add(draw_input(id, options_.problem, options_.fill));
      std::vector<float>& values = id == TensorId::q   ? inputs_.q
                                   : id == TensorId::k ? inputs_.k
                                   : id == TensorId::v ? inputs_.v
                                                       : inputs_.d_o;
      values = std::move(drawn);
    }
    result_.input_checksum = on_device.value();
    if (options_.verify && on_device.value() != on_cpu.value()) {
      throw Error(
          ExitCode::wrong_numbers,
          fmt::format("the device drew other inputs than the CPU: checksum {:016x} instead of {:016x}",
                      on_device.value(), on_cpu.value()));
    }
  }

  MaskResult one_mask(MaskKind kind) {
    const Problem& problem = options_.problem;
    const Mask mask(kind, problem.seqlen_q, problem.seqlen_k);
    MaskResult result;
    result.mask = kind;
    result.counts = count(mask);
    result.flops = backward_flops(problem, result.counts.visible_pairs);
    result.command = command_for(kind);

    progress_.step(fmt::format("{}: {} on {}", name_of(kind), result_.kernel, result_.platform));
    session_->poison_outputs();
    session_->forward(mask);
    session_->backward(mask);
    const Outputs outputs(*session_);
    summarize_outputs(outputs, result);

    if (options_.verify) {
      progress_.step(fmt::format("{}: reference", name_of(kind)));
      verify_outputs(outputs, mask, result);
    }
    refuse_other_damage(outputs, result);

    progress_.step(fmt::format("{}: timing", name_of(kind)));
    if (result.passed()) {
      const Passes passes = passes_for(options_, result_.emulated);
      result.timing = measure(*session_, problem, mask, result.counts, passes.warmup, passes.repeat, told());
    }
    return result;
  }

  void summarize_outputs(const Outputs& outputs, MaskResult& result) {
    Gradients gradients;
    for (std::size_t i = 0; i < kGradients.size(); ++i) {
      gradients[i] = values_of(outputs.of(kGradients[i]));
      result.gradients[i] = summarize(kGradients[i], gradients[i]);
    }
    result.d_range = extent_of(values_of(outputs.of(TensorId::d)));
    gradients_.push_back(std::move(gradients));
  }

  void verify_outputs(const Outputs& outputs, const Mask& mask, MaskResult& result) {
    const Reference reference =
        reference_for(options_.problem, mask, inputs_, {.threads = 0, .progress = told()});
    result.p_sparsity = reference.exact.statistics.p_sparsity;
    for (const TensorId id : kOutputs) {
      TensorVerdict verdict = verify(id, outputs.of(id), reference);
      verdict.guard_damaged = outputs.damaged(id);
      verdict.passed = verdict.passed && !verdict.guard_damaged;
      result.verdicts.push_back(std::move(verdict));
    }
  }

  /// A write past a tensor that no verdict speaks of.
  static void refuse_other_damage(const Outputs& outputs, const MaskResult& result) {
    for (const TensorId id : outputs.damaged()) {
      const bool judged = std::any_of(result.verdicts.begin(), result.verdicts.end(),
                                      [&](const TensorVerdict& verdict) { return verdict.id == id; });
      if (judged) continue;
      throw Error(ExitCode::wrong_numbers, fmt::format("{}: a kernel wrote past the end of {}; {}",
                                                       name_of(result.mask), name_of(id), result.command));
    }
  }

  void compare_with_no_mask() {
    const auto base = std::find(options_.masks.begin(), options_.masks.end(), MaskKind::no_mask);
    if (base == options_.masks.end()) return;
    const Gradients& unmasked = gradients_[static_cast<std::size_t>(base - options_.masks.begin())];
    for (std::size_t m = 0; m < result_.masks.size(); ++m) {
      if (result_.masks[m].mask == MaskKind::no_mask) continue;
      for (std::size_t i = 0; i < kGradients.size(); ++i) {
        result_.masks[m].gradients[i].max_diff_to_no_mask = max_difference(gradients_[m][i], unmasked[i]);
      }
    }
  }

  const Options& options_;
  Backend& backend_;
  Progress& progress_;
  RunResult result_;
  std::unique_ptr<Session> session_;
  AttentionInputs inputs_;
  std::vector<Gradients> gradients_;  // one a mask, in the order of the masks
};

}  // namespace

RunResult run(const Options& options, Backend& backend, const std::string& device_reason,
              Progress& progress) {
  return Run(options, backend, device_reason, progress).all_masks();
}

}  // namespace fmha_bwd
