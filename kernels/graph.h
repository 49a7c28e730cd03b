// Work that is recorded once and launched as a whole, without the gaps between launches.
#pragma once

#include <hip/hip_runtime.h>

#include "kernels/hip_check.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

class Graph {
 public:
  /// Records what `enqueue` puts into `stream`; it is not run. Throws Error (device_error) where that fails.
  template <class Enqueue>
  Graph(hipStream_t stream, const Enqueue& enqueue) {
    const hipError_t begun = hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal);
    if (begun == hipErrorNotSupported) {
      static_cast<void>(hipGetLastError());
      return;
    }
    check(begun, "hipStreamBeginCapture");
    hipGraph_t recorded = nullptr;
    try {
      enqueue();
    } catch (...) {
      // A stream that goes on recording refuses all else.
      static_cast<void>(hipStreamEndCapture(stream, &recorded));
      if (recorded != nullptr) static_cast<void>(hipGraphDestroy(recorded));
      static_cast<void>(hipGetLastError());
      throw;
    }
    FMHA_BWD_HIP(hipStreamEndCapture(stream, &recorded));
    const hipError_t made = hipGraphInstantiateWithFlags(&graph_, recorded, 0);
    static_cast<void>(hipGraphDestroy(recorded));
    check(made, "hipGraphInstantiateWithFlags");
  }
  ~Graph() {
    if (graph_ != nullptr) static_cast<void>(hipGraphExecDestroy(graph_));
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// Whether the platform has graphs.
  bool is_there() const { return graph_ != nullptr; }
  void launch(hipStream_t stream) const { FMHA_BWD_HIP(hipGraphLaunch(graph_, stream)); }

 private:
  hipGraphExec_t graph_ = nullptr;
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
