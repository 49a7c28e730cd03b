// What the kernels in this program need of their devices, as their code objects say.
#pragma once

#include <string_view>
#include <vector>

namespace fmha_bwd {

/// A JSON text for each GPU platform that is built in; scripts/code_objects.py, which read the code objects
/// when the program was built, says what stands in it. The emulator has none.
std::vector<std::string_view> kernel_resources();

}  // namespace fmha_bwd
