// What this program is and what it was built with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/backend.h"

namespace fmha_bwd {

/// "0.1.0".
std::string_view version();

/// Of the sources that this was built of, as git describes them: "8a0c0aa1b2c3", with "-dirty" where they
/// were changed since; "unknown" where git does not know.
std::string_view revision();

/// What --version prints: the version, then a line for each platform with the architectures that it has code
/// for.
std::string version_text(const std::vector<Platform>& platforms);

}  // namespace fmha_bwd
