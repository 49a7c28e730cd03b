// A backend that computes, and whose times are made up: so that what is done with times can be tested.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "kernels/backend.h"
#include "tests/src/faulty_backend.h"

namespace fmha_bwd {

/// Milliseconds of one pass; asked whenever passes are timed.
using PassTime = std::function<double(const Problem&)>;

class TimedSession final : public FaultySession {
 public:
  TimedSession(std::unique_ptr<Session> session, const Problem& problem, PassTime time)
      : FaultySession(std::move(session), Fault::none), problem_(problem), time_(std::move(time)) {}

  double time_passes(std::int64_t passes) override { return static_cast<double>(passes) * time_(problem_); }
  std::optional<double> time_graph(std::int64_t /*passes*/) override { return std::nullopt; }
  std::optional<double> clock_mhz() override { return std::nullopt; }

 private:
  Problem problem_;
  PassTime time_;
};

class TimedBackend final : public Backend {
 public:
  TimedBackend(std::unique_ptr<Backend> backend, PassTime time)
      : backend_(std::move(backend)), time_(std::move(time)) {}

  const Device& device() const override { return backend_->device(); }
  std::vector<KernelSupport> kernels(const Problem& problem, const MaskSpec& mask) const override {
    return backend_->kernels(problem, mask);
  }
  std::unique_ptr<Session> open(const Problem& problem, std::string_view kernel) override {
    return std::make_unique<TimedSession>(backend_->open(problem, kernel), problem, time_);
  }

 private:
  std::unique_ptr<Backend> backend_;
  PassTime time_;
};

/// What gives the program's backend those times; a Decorate of src/program.h. `time` may throw, as a device
/// does whose memory is short.
inline auto with_times(const PassTime& time) {
  return [time](std::unique_ptr<Backend> backend) -> std::unique_ptr<Backend> {
    return std::make_unique<TimedBackend>(std::move(backend), time);
  };
}

}  // namespace fmha_bwd
