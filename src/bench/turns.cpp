#include "src/bench/turns.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace fmha_bwd {
namespace {

constexpr char kTurn = 't';

void send_turn(int end) {
  while (send(end, &kTurn, 1, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

[[noreturn]] void fail(const char* what) {
  throw Error(ExitCode::device_error,
              fmt::format("--ab: {}: {}", what, std::generic_category().message(errno)));
}

bool is_socket(int descriptor) {
  int type = 0;
  socklen_t size = sizeof(type);
  return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
}

class InTurn final : public Subject {
 public:
  InTurn(std::unique_ptr<Subject> subject, Turns& turns) : subject_(std::move(subject)), turns_(turns) {}

  double passes(std::int64_t passes) override {
    const double milliseconds = subject_->passes(passes);
    turns_.pass();
    return milliseconds;
  }
  std::optional<double> graph(std::int64_t passes) override { return subject_->graph(passes); }
  bool has_batches() const override { return subject_->has_batches(); }
  std::optional<double> clock_mhz() override { return subject_->clock_mhz(); }

 private:
  std::unique_ptr<Subject> subject_;
  Turns& turns_;
};

}  // namespace

TurnPair::TurnPair() {
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()) != 0) fail("no socket pair");
  for (int& end : ends_) {
    if (end > STDERR_FILENO) continue;
    // One of the standard three was closed, and the process that inherits the end gives these a new meaning.
    const int moved = fcntl(end, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (moved < 0) fail("no descriptor");
    ::close(std::exchange(end, moved));
  }
}

void TurnPair::begin(std::size_t which) {
  send_turn(ends_.at(1 - which));
  close();
}

void TurnPair::close() {
  for (int& end : ends_) {
    if (end >= 0) ::close(std::exchange(end, -1));
  }
}

std::optional<Turns> Turns::of_this_process() {
  const char* text = std::getenv(kTurnVariable);
  if (text == nullptr) return std::nullopt;
  int end = -1;
  const char* last = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, last, end);
  const bool is_end = error == std::errc() && stop == last && end > STDERR_FILENO && is_socket(end);
  if (!is_end) return std::nullopt;
  std::optional<Turns> turns(end);
  turns->take();
  return turns;
}

Turns::Turns(Turns&& other) noexcept : end_(std::exchange(other.end_, -1)) {}

Turns::~Turns() {
  if (end_ < 0) return;
  give();
  close(end_);
}

void Turns::pass() {
  give();
  take();
}

void Turns::give() { send_turn(end_); }

void Turns::take() {
  char turn = 0;
  while (recv(end_, &turn, 1, 0) < 0) {
    if (errno == ECONNRESET) return;  // the other has ended
    if (errno != EINTR) fail("the turn is lost");
  }
}

std::unique_ptr<Subject> in_turn(std::unique_ptr<Subject> subject, Turns& turns) {
  return std::make_unique<InTurn>(std::move(subject), turns);
}

}  // namespace fmha_bwd
