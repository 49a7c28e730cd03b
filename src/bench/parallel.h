// One sweep on several GPUs of this machine at a time.
#pragma once

#include <string>
#include <vector>

#include "bench/results.h"
#include "kernels/backend.h"
#include "src/bench/bench_options.h"
#include "src/bench/plan.h"
#include "src/progress.h"

namespace fmha_bwd {

/// The devices of --device: "nvidia:0,nvidia:2" are two, "nvidia:all" all that answer; one for any other
/// text. Throws Error: bad_usage where one is no device's name, unsupported where the platform has none.
std::vector<std::string> devices_of(const std::string& device, const std::vector<Platform>& platforms);

/// Each device takes every Nth of the cases, in a process of its own; their results joined. With an output
/// file each process keeps its part beside it ("OUT.part1"), from which --resume goes on and which is gone
/// once the output file has all. Throws Error where a process ends without results, with its exit code, or
/// where the devices are unlike.
BenchResults measure_in_parallel(const BenchOptions& options, const std::vector<std::string>& devices,
                                 std::size_t cases, Progress& progress);

}  // namespace fmha_bwd
