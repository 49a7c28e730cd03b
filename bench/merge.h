// Results files of shards joined to one.
#pragma once

#include <span>
#include <string>

#include "base/error.h"
#include "bench/results.h"

namespace fmha_bwd {

struct NamedResults {
  std::string name;  // for messages: the file's path
  BenchResults results;
};

/// All cases of all parts, by index; those of one index in the order given. A case that several parts have,
/// the same in every member, is there once. The context is the first part's, but for `command`: each
/// different one once, with " ; " between. Throws Error (bad_usage) that names the parts where their contexts
/// or settings are unlike (bench/alike.h), or a case of the same name differs, or there is no part.
BenchResults merge(std::span<const NamedResults> parts);

/// What a run that had these results ends with: the first of wrong_numbers, device_error, bad_usage,
/// regression and unclear that a case has for its exit code; device_error for an error with any other;
/// unsupported where no case is supported, or there is none; else passed.
ExitCode exit_code_of(const BenchResults& results);

}  // namespace fmha_bwd
