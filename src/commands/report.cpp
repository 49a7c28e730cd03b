#include "src/commands/report.h"

namespace fmha_bwd {

ExitCode report_command(const std::vector<std::string>& /*words*/, const Console& /*console*/,
                        const Decorate& /*decorate*/) {
  throw Error(ExitCode::unsupported, "report: not built yet");
}

}  // namespace fmha_bwd
