// Other runs of bench, each a process of its own.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/bench/sweep_words.h"

namespace fmha_bwd {

/// `words` without the options of these names, flags or with their values, "--x V" or "--x=V".
Words without(const Words& words, const std::vector<std::string_view>& options,
              const std::vector<std::string_view>& flags);

/// A process whose stdout goes nowhere and whose stderr is this one's. It ends where this one is killed.
class Child {
 public:
  /// Starts `program` (a path, or a name on PATH) with these words, and with that end of a TurnPair (turns.h)
  /// if there is one. Throws Error (device_error) where it cannot start.
  Child(const std::string& program, const Words& words, std::optional<int> turns = std::nullopt);
  /// Ends it, where it was not waited for.
  ~Child();
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;

  /// Its exit code, or 128 and the signal that ended it; nothing while it runs.
  std::optional<int> ended();
  /// Waits for that.
  int wait();

 private:
  int pid_ = -1;
};

/// The file of the program that runs.
std::string this_program();

/// A new folder for files of this run, removed with all that is in it.
class ScratchFolder {
 public:
  /// Throws Error (device_error) where there can be none.
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace fmha_bwd
