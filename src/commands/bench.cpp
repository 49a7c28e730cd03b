#include "src/commands/bench.h"

namespace fmha_bwd {

ExitCode bench_command(const std::vector<std::string>& /*words*/, const Console& /*console*/,
                       const Decorate& /*decorate*/) {
  throw Error(ExitCode::unsupported, "bench: not built yet");
}

}  // namespace fmha_bwd
