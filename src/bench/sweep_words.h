// From the words of a sweep to those of its cases.
#pragma once

#include <string>
#include <vector>

namespace fmha_bwd {

using Words = std::vector<std::string>;

/// One list of words for each combination of the options' values, the last option's values changing fastest.
/// A problem option of a run takes, where a run takes one value,
///
///     64,128          a list
///     128:8192:*2     128, 256 .. up to 8192 by a factor
///     64:512:+64      64, 128 .. 512 by a step; 64:512:64 is the same
///
/// or both, "64,128:1024:*2". With --mode group the lengths of sequences are lists themselves, and ';' stands
/// between one list and the next. A flag takes =on, =off or =on,off: --sink=on,off is without and with sinks.
/// --seqlen N stands for --seqlen-q N with --seqlen-k N. Masks stay a list, which a run takes too. All other
/// options keep their value as it is. Throws Error (bad_usage), of one line that names the option, for a
/// range that is none and for more than kMostCombinations.
std::vector<Words> sweep_words(const Words& words);

inline constexpr std::size_t kMostCombinations = 1'000'000;

}  // namespace fmha_bwd
