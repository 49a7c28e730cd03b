#include "src/commands/arch.h"

namespace fmha_bwd {

ExitCode arch_command(const std::vector<std::string>& /*words*/, const Console& /*console*/,
                      const Decorate& /*decorate*/) {
  throw Error(ExitCode::unsupported, "arch: not built yet");
}

}  // namespace fmha_bwd
