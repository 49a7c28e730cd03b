#include "src/commands/merge.h"

namespace fmha_bwd {

ExitCode merge_command(const std::vector<std::string>& /*words*/, const Console& /*console*/,
                       const Decorate& /*decorate*/) {
  throw Error(ExitCode::unsupported, "merge: not built yet");
}

}  // namespace fmha_bwd
