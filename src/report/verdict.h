// The verdict of verification, in words.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "src/report/numbers.h"
#include "src/report/style.h"

namespace fmha_bwd {

enum class Verdict { passed, failed, not_verified };

/// "passed", "failed" or "not_verified".
std::string_view name_of(Verdict verdict);

/// failed also where runs differ that must not.
Verdict verdict_of(const MaskResult& mask);
/// The worst of the masks' verdicts; not_verified where nothing ran.
Verdict verdict_of(const RunResult& run);

/// Whether a tensor is outside its budget, or a kernel wrote where it may not.
bool has_wrong_numbers(const MaskResult& mask);

/// Why `verdict` did not pass, in one line.
std::string failure_of(const TensorVerdict& verdict, const Numbers& numbers);

/// "dQ differs between runs 1 and 3, in 12 elements".
std::string difference_text(const Difference& difference);

/// Whether only some rows were verified.
bool is_sampled(const RunResult& run);

/// The one line that sums up the whole run.
std::string conclusion(const RunResult& run);

}  // namespace fmha_bwd
