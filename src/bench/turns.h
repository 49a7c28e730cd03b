// Two processes on one machine that measure in turn, sample by sample, so that both meet the same state of
// it.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>

#include "bench/sampler.h"

namespace fmha_bwd {

/// What passes the turn between two processes: each is started with an end of it.
class TurnPair {
 public:
  /// Nobody has the turn yet. Throws Error (device_error) where there can be none.
  TurnPair();
  ~TurnPair() { close(); }
  TurnPair(const TurnPair&) = delete;
  TurnPair& operator=(const TurnPair&) = delete;

  /// A descriptor, which the process inherits and its environment names (Child does both).
  int end(std::size_t which) const { return ends_.at(which); }
  /// Gives that end the turn and leaves both ends to the processes that were started with them.
  void begin(std::size_t which);

 private:
  void close();

  std::array<int, 2> ends_ = {-1, -1};
};

/// The variable of the environment that names a process's end.
inline constexpr const char* kTurnVariable = "FMHA_BWD_TURNS";

/// This process's end.
class Turns {
 public:
  /// Waits for the first turn. Nothing where the process was started without an end. Throws Error
  /// (device_error) where the turn is lost, as pass() does.
  static std::optional<Turns> of_this_process();
  explicit Turns(int end) : end_(end) {}
  Turns(Turns&& other) noexcept;
  Turns& operator=(Turns&&) = delete;
  /// Leaves the turn to the other for good.
  ~Turns();

  /// Lets the other have its turn, and waits for the next one. Returns at once when the other has ended.
  void pass();

 private:
  void give();
  void take();

  int end_;
};

/// `subject`, which passes the turn on after each sample of single passes or batches. `turns` outlives it.
std::unique_ptr<Subject> in_turn(std::unique_ptr<Subject> subject, Turns& turns);

}  // namespace fmha_bwd
