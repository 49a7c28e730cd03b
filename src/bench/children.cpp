#include "src/bench/children.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "src/bench/turns.h"

namespace fmha_bwd {
namespace {

bool contains(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

/// An end of a TurnPair, for the new process to take along.
struct Inherited {
  explicit Inherited(std::optional<int> turns)
      : end(turns.value_or(-1)), variable(fmt::format("{}={}", kTurnVariable, end)) {}

  void take() {
    if (end < 0) return;
    fcntl(end, F_SETFD, 0);
    putenv(variable.data());
  }

  int end;
  std::string variable;
};

/// In the new process: becomes the program, which ends when this one's parent does, or writes errno to
/// `complaint`.
[[noreturn]] void become(const std::vector<char*>& argv, Inherited& inherited, pid_t parent, int complaint) {
  inherited.take();
  const int nowhere = open("/dev/null", O_RDWR);
  dup2(nowhere, STDIN_FILENO);
  dup2(nowhere, STDOUT_FILENO);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() == parent) execvp(argv.front(), argv.data());
  const int error = errno;
  static_cast<void>(!write(complaint, &error, sizeof(error)));
  _exit(127);
}

}  // namespace

Words without(const Words& words, const std::vector<std::string_view>& options,
              const std::vector<std::string_view>& flags) {
  Words kept;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view name = std::string_view(words[i]).substr(0, words[i].find('='));
    if (contains(flags, name)) continue;
    if (!contains(options, name)) {
      kept.push_back(words[i]);
    } else if (name.size() == words[i].size()) {
      ++i;  // its value
    }
  }
  return kept;
}

Child::Child(const std::string& program, const Words& words, std::optional<int> turns) {
  Inherited inherited(turns);
  std::vector<std::string> arguments = {program};
  arguments.insert(arguments.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::array<int, 2> complaint = {};  // a pipe that closes when the program starts
  int error = pipe2(complaint.data(), O_CLOEXEC) == 0 ? 0 : errno;
  if (error == 0) {
    const pid_t parent = getpid();
    static_cast<void>(signal(SIGCHLD, SIG_DFL));  // where it is ignored, nobody can wait for a child
    pid_ = fork();
    if (pid_ == 0) become(argv, inherited, parent, complaint[1]);
    error = pid_ < 0 ? errno : 0;
    close(complaint[1]);
    if (error == 0 && read(complaint[0], &error, sizeof(error)) > 0) static_cast<void>(wait());
    close(complaint[0]);
  }
  if (error == 0) return;
  pid_ = -1;
  throw Error(ExitCode::device_error,
              fmt::format("'{}' cannot be run: {}", program, std::generic_category().message(error)));
}

Child::~Child() {
  if (pid_ < 0) return;
  static_cast<void>(kill(pid_, SIGTERM));
  static_cast<void>(wait());
}

Child::Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

std::optional<int> Child::ended() {
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = -1;
  return code_of(status);
}

int Child::wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return code_of(status);
}

std::string this_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

ScratchFolder::ScratchFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "fmha_bwd_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw Error(ExitCode::device_error,
                fmt::format("no folder '{}': {}", name, std::generic_category().message(errno)));
  }
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace fmha_bwd
