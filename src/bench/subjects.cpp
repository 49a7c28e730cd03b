#include "src/bench/subjects.h"

#include <malloc.h>

#include <chrono>

#include "reference/attention.h"
#include "reference/inputs.h"
#include "src/bench/host_slowdown.h"
#include "src/run_inputs.h"

namespace fmha_bwd {
namespace {

class DeviceSubject final : public Subject {
 public:
  DeviceSubject(const PlannedCase& planned, Backend& backend, const std::string& kernel, CacheState cache)
      : cache_(cache), session_(backend.open(planned.options.problem, kernel)) {
    const MaskSpec& mask = planned.options.masks.front();
    RunInputs(planned.options).place_in(*session_);
    session_->forward(mask);
    session_->prepare_timing(mask, cache);
  }

  double passes(std::int64_t passes) override { return session_->time_passes(passes); }
  std::optional<double> graph(std::int64_t passes) override { return session_->time_graph(passes); }
  std::optional<double> clock_mhz() override { return session_->clock_mhz(); }
  bool has_batches() const override { return cache_ != CacheState::flush; }

 private:
  CacheState cache_;
  std::unique_ptr<Session> session_;
};

/// From now on memory that is freed stays with the process. glibc hands large blocks back to the system at
/// once, and the faults of touching new ones are up to a third of a pass of the reference: a third that
/// depends on which pages the process got.
void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
#endif
}

class ReferenceSubject final : public Subject {
 public:
  explicit ReferenceSubject(const PlannedCase& planned)
      : planned_(planned), inputs_(draw_inputs(planned.options.problem, planned.options.fill)) {
    keep_freed_memory();
    compute();
  }

  double passes(std::int64_t passes) override {
    const auto begin = std::chrono::steady_clock::now();
    for (std::int64_t pass = 0; pass < passes; ++pass) {
      const auto started = std::chrono::steady_clock::now();
      compute();
      slow_down(std::chrono::steady_clock::now() - started);
    }
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }
  std::optional<double> graph(std::int64_t /*passes*/) override { return std::nullopt; }
  std::optional<double> clock_mhz() override { return std::nullopt; }
  bool has_batches() const override { return false; }

 private:
  void compute() const {
    const Problem& problem = planned_.options.problem;
    const MaskSpec& mask = planned_.options.masks.front();
    if (planned_.operation == Operation::exact_reference) {
      static_cast<void>(exact_attention(problem, mask, inputs_));
    } else {
      static_cast<void>(textbook_attention(problem, mask, inputs_));
    }
  }

  const PlannedCase& planned_;
  AttentionInputs inputs_;
};

}  // namespace

std::unique_ptr<Subject> device_subject(const PlannedCase& planned, Backend& backend,
                                        const std::string& kernel, CacheState cache) {
  return std::make_unique<DeviceSubject>(planned, backend, kernel, cache);
}

std::unique_ptr<Subject> reference_subject(const PlannedCase& planned) {
  return std::make_unique<ReferenceSubject>(planned);
}

}  // namespace fmha_bwd
