// Where and how a run of bench measures.
#pragma once

#include "bench/results.h"
#include "bench/telemetry/device_watch.h"
#include "kernels/backend.h"
#include "src/bench/bench_options.h"

namespace fmha_bwd {

/// The whole command line.
std::string command_of(const BenchOptions& options);

/// Of a run on `device`, or of the reference on this machine's CPU where that is nullptr. `facts` are what
/// its vendor's library says, nullptr where there is none; `absence` then says why.
BenchContext context_of(const BenchOptions& options, const Device* device, const DeviceFacts* facts,
                        const std::string& absence);

}  // namespace fmha_bwd
