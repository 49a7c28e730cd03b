#include "tests/kernels/platform/emulator/mutation.h"

#include <fstream>
#include <mutex>

namespace fmha_bwd {
namespace {

std::set<SourceLine>* record = nullptr;
std::mutex record_mutex;

}  // namespace

SourceLine left_out;

bool is_left_out(const char* file, int line) {
  if (record != nullptr) {
    const std::lock_guard lock(record_mutex);
    record->insert({file, line});
  }
  return left_out.is_at(file, line);
}

std::set<SourceLine> reached_by(const std::function<void()>& run) {
  std::set<SourceLine> reached;
  record = &reached;
  run();
  record = nullptr;
  return reached;
}

std::vector<SourceLine> lines_with(const std::string& text, const std::string& folder,
                                   const std::string& file) {
  std::vector<SourceLine> found;
  std::ifstream source(folder + file);
  std::string content;
  for (int line = 1; std::getline(source, content); ++line) {
    if (content.find(text) != std::string::npos) found.push_back({file, line});
  }
  return found;
}

}  // namespace fmha_bwd
