#include "src/kernel_choice.h"

#include <fmt/format.h>

#include "base/error.h"

namespace fmha_bwd {

KernelChoice choose_kernel(const Options& options, const MaskSpec& mask, const Backend& backend) {
  const std::vector<KernelSupport> all = backend.kernels(options.problem, mask);
  for (const KernelSupport& support : all) {
    if (options.kernel == "auto" && !support.merit.empty() && !support.refusal) {
      return {support.kernel, support.merit};
    }
  }
  std::string refusals;
  std::string names;
  for (const KernelSupport& support : all) {
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
  throw Error(ExitCode::unsupported,
              fmt::format("no kernel supports the problem under {} ({})", name_of(mask), refusals));
}

}  // namespace fmha_bwd
