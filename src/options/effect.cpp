#include "src/options/effect.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "src/options/values.h"

namespace fmha_bwd {
namespace {

constexpr std::array<std::string_view, 11> kWithRandom = {
    "--random",          "--seed",    "--device",    "--arch",
    "--kernel",          "--verify",  "--reference", "--check-determinism",
    "--save-on-failure", "--verbose", "--quiet"};

/// The first of `names` on the command line; nothing where none is.
std::optional<std::string> first_given(const Arguments& arguments, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (contains(arguments.given, name)) return name;
  }
  return std::nullopt;
}

void refuse_beside_kernel_list(const Arguments& arguments) {
  std::optional<std::string> ignored =
      first_given(arguments, {"--random", "--save", "--save-on-failure", "--check-determinism",
                              "--emulator-stats", "--warmup", "--repeat"});
  if (arguments.output.value_or("-") != "-") ignored = "--output";
  if (arguments.format.value_or("table") != "table") ignored = "--format";
  if (!ignored) return;
  refuse("--kernel",
         fmt::format("'list' prints a table on stdout and runs nothing; allowed without {}", *ignored));
}

}  // namespace

void refuse_what_the_request_ignores(const Arguments& arguments) {
  if (arguments.kernel == "list") return refuse_beside_kernel_list(arguments);
  if (!arguments.random) return;
  for (const std::string& name : arguments.given) {
    if (std::find(kWithRandom.begin(), kWithRandom.end(), name) != kWithRandom.end()) continue;
    refuse(name, "not allowed together with --random");
  }
}

void refuse_what_has_no_effect(const Arguments& arguments, const Options& options) {
  const Problem& problem = options.problem;
  if (problem.dropout.probability == 0.0F) {
    if (const auto name = first_given(arguments, {"--dropout-seed", "--dropout-offset"})) {
      refuse(*name, "no effect without dropout; allowed with --dropout P above 0");
    }
  }
  if (options.all_loaded) {
    // The seed also chooses the rows of a sample.
    const bool seed_counts = options.verify == VerifyHow::sample;
    const auto seed = seed_counts ? std::nullopt : first_given(arguments, {"--seed"});
    if (const auto name = seed ? seed : first_given(arguments, {"--fill", "--fill-do", "--std"})) {
      refuse(*name,
             fmt::format("no effect, since '{}' has every input; allowed where one is drawn", *options.load));
    }
  }
  if (!options.verifies() && first_given(arguments, {"--reference"})) {
    refuse("--reference", "no effect with --verify none; allowed with --verify full or sample");
  }
  if (options.kernel == "plain" && options.reference == ReferenceOn::device) {
    refuse("--reference", "device: no effect with --kernel plain, which it is; allowed with another kernel");
  }
  if (options.emulator_stats) {
    const std::string platform = device_request(options.device).platform;
    if (platform != "auto" && platform != "emulator") {
      refuse("--emulator-stats",
             fmt::format("not counted on --device {}; allowed with --device emulator", options.device));
    }
  }
  if (options.emulator_stats && options.quiet && options.format == Format::table) {
    refuse("--emulator-stats",
           "not shown in a table with --quiet; allowed without that, or with --format json or csv");
  }
  // A random problem may be deterministic, and is then checked for it.
  const bool may_differ = options.random || (problem.deterministic && options.check_determinism);
  if (options.save_on_failure && !options.verifies() && !may_differ) {
    refuse("--save-on-failure",
           "nothing can fail with --verify none; allowed with --verify full or sample, or with "
           "--deterministic and "
           "--check-determinism");
  }
}

}  // namespace fmha_bwd
