// The command line before anything in it is understood.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace fmha_bwd {

/// The arguments as they were given.
struct Arguments {
  using Value = std::optional<std::string>;

  std::vector<std::string> masks;
  Value mode, batch, nhead, nhead_k, seqlen_q, seqlen_k, seqlen_q_pad, seqlen_k_pad;
  Value hdim, hdim_v, dtype, layout;
  Value scale, softcap, bias, dropout, dropout_seed, dropout_offset;
  std::optional<bool> alibi, sink, deterministic;
  Value fill, fill_do, seed, std, load, random;
  Value device, arch, kernel;
  Value verify, reference, check_determinism, warmup, repeat;
  Value format, output, save, save_on_failure;
  bool emulator_stats = false;
  bool quiet = false;
  bool verbose = false;
  bool help = false;
  bool version = false;

  std::vector<std::string> given;    // the names of the options that were, "--mask"
  std::vector<std::string> in_case;  // those that a loaded folder's case file has
  std::optional<std::string> extra;  // the first word that is neither an option nor an option's value
};

/// Reads `words` into `arguments`; what is there already stays where no word replaces it, but for `given` and
/// `extra`. Throws Error (bad_usage) where a value is missing.
void read_arguments(const std::vector<std::string>& words, Arguments& arguments);

inline bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace fmha_bwd
