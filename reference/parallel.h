// A loop whose turns are spread over threads.
#pragma once

#include <cstdint>
#include <functional>

namespace fmha_bwd {

/// As many as the machine has, at least one.
int default_threads();

/// How a long computation is run.
struct Workers {
  int threads = 0;                         // 0: default_threads()
  std::function<void(double)> progress{};  // told the share done, in [0, 1]; runs on the calling thread
};

/// Calls body(0) .. body(count - 1), each once, in any order and on several threads. The calling thread takes
/// its part. Returns when all have ended; if one throws, no new ones start and the first exception is thrown.
void parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& body,
                  const Workers& workers = {});

/// The progress of one part of a computation: its [0, 1] is told as [begin, end] of the whole.
Workers part_of(const Workers& workers, double begin, double end);

}  // namespace fmha_bwd
