// What bench times: a device's backward passes, or the reference on the CPU.
#pragma once

#include <memory>
#include <string>

#include "bench/sampler.h"
#include "kernels/backend.h"
#include "src/bench/plan.h"

namespace fmha_bwd {

/// Passes of `planned` by the family `kernel` of `backend`: a session with inputs drawn, O and LSE computed,
/// ready for timing from that state of the cache. Throws Error (device_error) as the device does.
std::unique_ptr<Subject> device_subject(const PlannedCase& planned, Backend& backend,
                                        const std::string& kernel, CacheState cache);

/// Forward and backward passes of the reference on all threads, from drawn inputs, by the host's steady
/// clock. It is computed once before this returns, and the process keeps memory that is freed from then on,
/// so that no pass waits for new pages.
std::unique_ptr<Subject> reference_subject(const PlannedCase& planned);

}  // namespace fmha_bwd
