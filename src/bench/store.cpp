#include "src/bench/store.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "base/error.h"
#include "bench/alike.h"
#include "src/options/values.h"
#include "src/report/report.h"

namespace fmha_bwd {

ResultsStore::ResultsStore(BenchContext context, const std::vector<PlannedCase>& planned,
                           std::optional<std::string> path)
    : path_(std::move(path)) {
  results_.context = std::move(context);
  for (const PlannedCase& one : planned) results_.cases.push_back(one.item);
  texts_.resize(planned.size());
  for (std::size_t number = 0; number < planned.size(); ++number) changed_.insert(number);
}

void ResultsStore::resume() {
  if (!path_ || !std::filesystem::exists(*path_)) return;
  BenchResults before = read_results(*path_, "--resume");
  const BenchContext& now = results_.context;
  const auto refuse_unlike = [&](const std::string& what) {
    refuse("--resume", fmt::format("'{}' {}; allowed is a file of the same sweep and build", *path_, what));
  };
  for (const auto& unlike : {unlike_contexts(before.context, now), unlike_settings(before.context, now)}) {
    if (!unlike.empty()) refuse_unlike("differs in " + unlike.front());
  }
  for (std::size_t number = 0; number < results_.cases.size(); ++number) changed_.insert(number);
  std::map<std::string, BenchCase*> own;
  for (BenchCase& item : results_.cases) own.emplace(item.name, &item);
  for (BenchCase& item : before.cases) {
    const auto found = own.find(item.name);
    if (found == own.end()) refuse_unlike(fmt::format("has the case {}, which this sweep lacks", item.name));
    const bool try_again = item.exit_code == static_cast<int>(ExitCode::device_error);
    if (try_again) item.error.clear();
    if (try_again) item.exit_code = 0;
    item.index = found->second->index;
    *found->second = std::move(item);
  }
}

BenchCase& ResultsStore::item(std::size_t number) {
  changed_.insert(number);
  return results_.cases.at(number);
}

void ResultsStore::save() {
  if (!path_) return;
  for (const std::size_t number : changed_) {
    texts_[number] = case_text(results_.cases[number], results_.context);
  }
  changed_.clear();
  write_file(*path_, results_text(results_.context, texts_));
}

}  // namespace fmha_bwd
