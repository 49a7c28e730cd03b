#include "src/commands/compare.h"

namespace fmha_bwd {

ExitCode compare_command(const std::vector<std::string>& /*words*/, const Console& /*console*/,
                         const Decorate& /*decorate*/) {
  throw Error(ExitCode::unsupported, "compare: not built yet");
}

}  // namespace fmha_bwd
