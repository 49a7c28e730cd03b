#include "src/arch/emulated.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "kernels/backend.h"
#include "src/arch/resources.h"
#include "src/options.h"
#include "src/options/values.h"
#include "src/progress.h"
#include "src/run.h"

namespace fmha_bwd {
namespace {

/// What the words mean on one architecture for one family.
Options options_from(const std::vector<std::string>& words, const std::string& arch,
                     const std::string& family) {
  std::vector<const char*> argv = {"fmha_bwd",   "--device", "emulator",    "--arch",
                                   arch.c_str(), "--kernel", family.c_str()};
  for (const std::string& word : words) argv.push_back(word.c_str());
  const CommandLine command_line = parse_command_line(static_cast<int>(argv.size()), argv.data());
  const Options& options = command_line.options;
  const auto refuse_if = [](bool given, const char* option) {
    if (given) refuse(option, "not allowed with arch, which runs every family once and verifies it");
  };
  refuse_if(command_line.request == Request::version, "--version");
  refuse_if(command_line.request == Request::random, "--random");
  refuse_if(options.save.has_value(), "--save");
  refuse_if(options.save_on_failure.has_value(), "--save-on-failure");
  refuse_if(options.warmup.has_value(), "--warmup");
  refuse_if(options.repeat.has_value(), "--repeat");
  refuse_if(options.emulator_stats, "--emulator-stats");
  refuse_if(options.verbose, "--verbose");
  refuse_if(!options.verifies(), "--verify");
  return options;
}

/// "no_mask, top_left: not for hdim 96; bottom_right: ..."; without masks where all of them say the same.
class Refusals {
 public:
  void add(const MaskSpec& mask, const std::string& reason) {
    auto same = std::find_if(reasons_.begin(), reasons_.end(),
                             [&](const Reason& other) { return other.text == reason; });
    if (same == reasons_.end()) same = reasons_.insert(same, {reason, {}});
    same->masks.push_back(name_of(mask));
  }

  std::string text(bool refused_all) const {
    if (refused_all && reasons_.size() == 1) return reasons_.front().text;
    std::vector<std::string> parts;
    for (const Reason& reason : reasons_) {
      parts.push_back(fmt::format("{}: {}", fmt::join(reason.masks, ", "), reason.text));
    }
    return fmt::format("{}", fmt::join(parts, "; "));
  }

 private:
  struct Reason {
    std::string text;
    std::vector<std::string> masks;
  };
  std::vector<Reason> reasons_;
};

/// Keeps the masks that the family supports.
Refusals take_out_refused_masks(Options& options, const Backend& backend) {
  Refusals refusals;
  std::erase_if(options.masks, [&](const MaskSpec& mask) {
    for (const KernelSupport& support : backend.kernels(options.problem, mask)) {
      if (support.kernel != options.kernel || !support.refusal) continue;
      refusals.add(mask, *support.refusal);
      return true;
    }
    return false;
  });
  return refusals;
}

/// "top_left (dQ, dK)".
std::string wrong_text(const MaskResult& mask) {
  std::vector<std::string> what;
  for (const std::vector<TensorVerdict>* verdicts : {&mask.verdicts, &mask.third_opinion}) {
    for (const TensorVerdict& verdict : *verdicts) {
      const std::string name(name_of(verdict.id));
      const bool named = std::find(what.begin(), what.end(), name) != what.end();
      if (!verdict.passed && !named) what.push_back(name);
    }
  }
  if (what.empty()) what.emplace_back("differs between runs");
  return fmt::format("{} ({})", name_of(mask.mask), fmt::join(what, ", "));
}

/// The run of one family; the backend's architecture is that of `options`.
EmulatedRun run_of(Options options, Backend& backend, Progress& progress) {
  EmulatedRun result;
  result.arch = *options.arch;
  result.family = options.kernel;
  result.command = reproducing_command(options, options.masks.front());
  const std::size_t asked = options.masks.size();
  const Refusals refusals = take_out_refused_masks(options, backend);
  if (options.masks.empty()) {
    result.detail = refusals.text(true);
    return result;
  }
  try {
    const RunResult run_result = run(options, backend, "asked for", progress).result;
    std::vector<std::string> wrong;
    for (const MaskResult& mask : run_result.masks) {
      if (mask.passed()) continue;
      if (wrong.empty()) result.command = mask.command;
      wrong.push_back(wrong_text(mask));
    }
    result.verdict = wrong.empty() ? EmulatedVerdict::passed : EmulatedVerdict::wrong;
    result.detail = wrong.empty() ? fmt::format("{} of {} masks", options.masks.size(), asked)
                                  : fmt::format("{}", fmt::join(wrong, "; "));
    if (options.masks.size() < asked) result.detail += "; " + refusals.text(false);
  } catch (const Error& error) {
    if (error.code() != ExitCode::wrong_numbers && error.code() != ExitCode::device_error) throw;
    const bool wrong = error.code() == ExitCode::wrong_numbers;
    result.verdict = wrong ? EmulatedVerdict::wrong : EmulatedVerdict::stopped;
    result.detail = error.what();
  }
  return result;
}

/// The names of the families that may be run there.
std::vector<std::string> families_of(const Backend& backend, const std::optional<std::string>& asked) {
  std::vector<std::string> names;
  for (const KernelSupport& support : backend.kernels({}, kNoMask)) {
    if (!asked || support.kernel == *asked) names.push_back(support.kernel);
  }
  return names;
}

}  // namespace

std::string_view name_of(EmulatedVerdict verdict) {
  switch (verdict) {
    case EmulatedVerdict::passed:
      return "passed";
    case EmulatedVerdict::wrong:
      return "wrong";
    case EmulatedVerdict::refused:
      return "refused";
    case EmulatedVerdict::stopped:
      return "stopped";
  }
  return "";
}

std::vector<EmulatedRun> run_emulated(const EmulatedChoice& choice, const Console& console,
                                      bool show_progress, const Decorate& decorate) {
  std::vector<EmulatedRun> runs;
  for (const Platform& platform : platforms()) {
    if (platform.name != "emulator") continue;
    for (const Device& device : platform.devices) {
      if (choice.arch && !is_arch(device.arch, *choice.arch)) continue;
      std::unique_ptr<Backend> backend = open_backend(platform.name, device.index);
      if (decorate) backend = decorate(std::move(backend));
      for (const std::string& family : families_of(*backend, choice.family)) {
        const Options options = options_from(choice.words, device.arch, family);
        Progress progress({.out = show_progress ? &console.err : nullptr, .width = console.err_width});
        runs.push_back(run_of(options, *backend, progress));
      }
    }
  }
  return runs;
}

}  // namespace fmha_bwd
