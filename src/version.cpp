#include "src/version.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "revision.h"

namespace fmha_bwd {

std::string_view version() { return FMHA_BWD_VERSION; }

std::string_view revision() { return FMHA_BWD_REVISION; }

std::string version_text(const std::vector<Platform>& platforms) {
  std::string text = fmt::format("fmha_bwd {}\n", version());
  for (const Platform& platform : platforms) {
    text += fmt::format("  {:<8}  {}\n", platform.name, fmt::join(platform.architectures, " "));
  }
  return text;
}

}  // namespace fmha_bwd
