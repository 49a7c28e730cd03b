#include "src/random/random_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "base/sequences.h"
#include "src/files/whole_file.h"
#include "src/progress.h"
#include "src/random/random_case.h"
#include "src/random/shrink.h"
#include "src/report/report.h"
#include "src/run.h"

namespace fmha_bwd {
namespace {

constexpr std::size_t kLineWidth = 99;

/// What a case has that a plain one has not.
std::vector<std::string> features_of(const RandomCase& drawn) {
  const Problem& p = drawn.problem;
  std::vector<std::string> features;
  const auto add = [&](bool has, std::string_view name) {
    if (has) features.emplace_back(name);
  };
  add(true, name_of(p.dtype));
  add(true, fmt::format("layout {}", name_of(p.layout)));
  add(p.grouped(), "group mode");
  add(has_padding(p), "padding");
  add(p.group_size() > 1, "grouped heads");
  add(p.hdim_q != p.hdim_v, "hdim_q != hdim_v");
  add(p.bias != BiasShape::none, "bias");
  add(p.alibi, "ALiBi");
  add(p.softcap > 0.0F, "soft-cap");
  add(p.sink, "sinks");
  add(p.dropout.probability > 0.0F, "dropout");
  add(p.deterministic, "deterministic");
  add(true, fmt::format("fill {}", name_of(drawn.fill.kind)));
  const std::string mask = name_of(drawn.mask);
  const std::size_t colon = mask.find(':');
  const bool window =
      colon != std::string::npos && drawn.mask.document_ends.empty() && drawn.mask.prefix == 0;
  features.push_back(window ? "mask window" : "mask " + mask.substr(0, colon));
  return features;
}

/// How one case ended.
struct Ending {
  bool passed = false;
  bool refused = false;  // by the kernel that was asked for
  std::string error;     // what the device said, where it stopped the run
  std::string kernel;
  std::optional<bool> differs;  // whether repeated runs do, where they may; nothing where none was repeated
  std::int64_t inconclusive = 0;
  RunResult result;
  std::optional<Error> unsaved;
};

class RandomRun {
 public:
  RandomRun(const Options& options, Backend& backend, const std::string& device_reason,
            const Console& console)
      : options_(options), backend_(backend), device_reason_(device_reason), console_(console) {}

  ExitCode all() {
    const std::int64_t count = *options_.random;
    const bool shown = console_.err_is_terminal && !options_.quiet;
    Progress progress({.out = shown ? &console_.err : nullptr, .width = console_.err_width});
    progress.expect(count);
    if (options_.save_on_failure) check_folder(*options_.save_on_failure, "--save-on-failure");
    for (std::int64_t number = 0; number < count; ++number) {
      progress.step(fmt::format("random problem {} of seed {}", number, options_.fill.seed));
      const RandomCase drawn = draw_case(options_.fill.seed, static_cast<std::uint64_t>(number));
      const Ending ending = naming(number, drawn, [&] { return end_of(drawn); });
      if (ending.refused) {
        ++refused_;
        continue;
      }
      if (!ending.passed) {
        progress.step("a smaller problem that fails");
        report_failure(number, drawn, ending);
        return ExitCode::wrong_numbers;
      }
      note(drawn, ending);
    }
    return report_passed();
  }

 private:
  /// The case's own, and where it runs.
  Options options_for(const RandomCase& drawn) const {
    Options options = options_;
    options.random.reset();
    options.save_on_failure.reset();
    options.problem = drawn.problem;
    options.masks = {drawn.mask};
    options.fill = drawn.fill;
    if (drawn.problem.deterministic && !options.check_determinism) options.check_determinism = 2;
    return options;
  }

  std::string command(const RandomCase& of) const { return reproducing_command(options_for(of), of.mask); }

  /// What `action` returns; where the device or the memory gives out, the error says at which problem.
  template <class Action>
  Ending naming(std::int64_t number, const RandomCase& drawn, const Action& action) const {
    const auto stop = [&](std::string_view reason) {
      throw Error(ExitCode::device_error, fmt::format("random problem {} of seed {}: {}; {}", number,
                                                      options_.fill.seed, reason, command(drawn)));
    };
    try {
      return action();
    } catch (const Error& error) {
      if (error.code() == ExitCode::device_error) stop(error.what());
      throw;
    } catch (const std::bad_alloc&) {
      stop("out of host memory");
      throw;
    }
  }

  /// An error that says that the case fails: what the kernels did wrong, as the emulator finds out, too, but
  /// not a GPU that gives out.
  bool is_failure(const Error& error) const {
    return error.code() == ExitCode::wrong_numbers ||
           (error.code() == ExitCode::device_error && backend_.device().emulated);
  }

  Ending end_of(const RandomCase& drawn, const std::optional<std::string>& save = std::nullopt) {
    Ending ending;
    Progress silent;
    Options options = options_for(drawn);
    options.save_on_failure = save;
    options.warmup = 0;
    options.repeat = 1;
    try {
      RunOutcome outcome = run(options, backend_, device_reason_, silent);
      ending.result = std::move(outcome.result);
      ending.result.masks.front().command = command(drawn);
      ending.unsaved = std::move(outcome.unsaved);
    } catch (const Error& error) {
      ending.refused = error.code() == ExitCode::unsupported;
      if (!ending.refused && !is_failure(error)) throw;
      ending.error = error.what();
      return ending;
    }
    const MaskResult& mask = ending.result.masks.front();
    if (mask.determinism && !mask.determinism->required)
      ending.differs = mask.determinism->difference.has_value();
    ending.passed = mask.passed();
    ending.kernel = mask.kernel;
    ending.inconclusive = std::count_if(mask.verdicts.begin(), mask.verdicts.end(),
                                        [](const TensorVerdict& verdict) { return !verdict.conclusive(); });
    return ending;
  }

  void note(const RandomCase& drawn, const Ending& ending) {
    ++passed_;
    ++kernels_[ending.kernel];
    inconclusive_ += ending.inconclusive;
    if (ending.differs) ++(*ending.differs ? differed_ : repeated_);
    for (const std::string& feature : features_of(drawn)) ++features_[feature];
  }

  /// "  title     name 3, name 4", in lines of at most kLineWidth columns.
  static std::string counts_text(std::string_view title, const std::map<std::string, std::int64_t>& counts) {
    std::string text;
    std::string line = fmt::format("  {:10}", title);
    const std::size_t indent = line.size();
    for (const auto& [name, count] : counts) {
      const std::string item = fmt::format("{} {}", name, count);
      if (line.size() > indent && line.size() + 2 + item.size() > kLineWidth) {
        text += line + ",\n";
        line = std::string(indent, ' ');
      }
      line += (line.size() > indent ? ", " : "") + item;
    }
    return text + line + "\n";
  }

  ExitCode report_passed() const {
    const Device& device = backend_.device();
    std::string text;
    if (!options_.quiet) {
      text += fmt::format("random problems of seed {} on {}:{}  {}  {}\n", options_.fill.seed,
                          device.platform, device.index, device.name, device.arch);
      text += counts_text("kernels", kernels_) + counts_text("features", features_);
      if (inconclusive_ > 0) {
        text += fmt::format("  {} tensors were inconclusive: rounding may be as large as they are\n",
                            inconclusive_);
      }
    }
    if (options_.check_determinism) {
      text += fmt::format("  without --deterministic: {} problems repeated their bits, {} did not\n",
                          repeated_, differed_);
    }
    if (refused_ > 0) {
      text += fmt::format("  {} problems were refused by {}\n", refused_,
                          options_.kernel == "auto" ? "every kernel" : options_.kernel);
    }
    if (passed_ == 0) {
      print(console_, text + "nothing ran\n");
      return ExitCode::unsupported;
    }
    const char* verb = !options_.verifies() ? "ran unchecked"
                       : options_.verify == VerifyHow::sample
                           ? "agree with the fp64 reference on samples of rows"
                           : "agree with the fp64 reference";
    print(console_, text + fmt::format("{}: {} of {} random problems {}\n",
                                       options_.verifies() ? "passed" : "not verified", passed_,
                                       *options_.random, verb));
    return ExitCode::passed;
  }

  /// The smallest case found that fails, and how it ends when it is run once more.
  struct Smaller {
    RandomCase drawn;
    Ending ending;
    std::string stopped_by;  // what kept it from being run once more
  };

  Smaller smaller_than(const RandomCase& drawn) {
    Smaller smaller;
    const auto stopped = [&](const auto& action) {
      try {
        if (smaller.stopped_by.empty()) action();
      } catch (const std::exception& error) {
        const auto* known = dynamic_cast<const Error*>(&error);
        if (known != nullptr && known->code() == ExitCode::bad_usage) return;  // its inputs cannot be held
        smaller.stopped_by = error.what();
      }
    };
    smaller.drawn = shrunk(drawn, [&](const RandomCase& candidate) {
      bool fails = false;
      stopped([&] {
        const Ending other = end_of(candidate);
        fails = !other.passed && !other.refused;
      });
      return fails;
    });
    stopped([&] { smaller.ending = end_of(smaller.drawn, options_.save_on_failure); });
    return smaller;
  }

  void report_failure(std::int64_t number, const RandomCase& drawn, const Ending& ending) {
    const Smaller smaller = smaller_than(drawn);
    const Ending& end = smaller.ending;
    const bool comes_back = !end.passed && smaller.stopped_by.empty();
    std::string text = fmt::format("FAILED: random problem {} of seed {}, after {} that passed\n  {}\n",
                                   number, options_.fill.seed, passed_, command(drawn));
    if (!ending.error.empty()) text += fmt::format("  {}\n", ending.error);
    text += fmt::format("{}:\n  {}\n",
                        comes_back   ? "a smaller problem that fails"
                        : end.passed ? "it does not fail every time; this one failed, and then passed"
                                     : "a smaller problem that failed",
                        command(smaller.drawn));
    if (!end.error.empty()) {
      text += fmt::format("  {}\n", end.error);
    } else if (comes_back && !options_.quiet) {
      text +=
          "\n" + report_text(end.result, options_for(smaller.drawn), console_.out_colour, console_.out_width);
    }
    print(console_, text);
    if (!smaller.stopped_by.empty()) print_error(console_, smaller.stopped_by);
    if (end.unsaved) print_error(console_, end.unsaved->what());
  }

  const Options& options_;
  Backend& backend_;
  const std::string& device_reason_;
  const Console& console_;
  std::int64_t passed_ = 0;
  std::int64_t refused_ = 0;
  std::int64_t inconclusive_ = 0;
  std::int64_t repeated_ = 0;  // of those that need not, in every bit
  std::int64_t differed_ = 0;
  std::map<std::string, std::int64_t> kernels_;
  std::map<std::string, std::int64_t> features_;
};

}  // namespace

ExitCode run_random(const Options& options, Backend& backend, const std::string& device_reason,
                    const Console& console) {
  return RandomRun(options, backend, device_reason, console).all();
}

}  // namespace fmha_bwd
