#include "src/arch/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

namespace fmha_bwd {
namespace {

using Key = std::tuple<std::string, std::string, std::string, std::string>;
using Target = std::pair<std::string, std::string>;  // a platform and an architecture of it

Key key_of(const KernelResources& kernel) {
  return {kernel.platform, kernel.arch, kernel.family, kernel.kernel};
}

std::set<Target> targets_of(const ResourceTable& table) {
  std::set<Target> targets;
  for (const KernelResources& kernel : table.kernels) targets.emplace(kernel.platform, kernel.arch);
  return targets;
}

/// Why the table knows nothing of that platform's kernels; nothing where it does, or has no such platform.
std::optional<std::string> missing_in(const ResourceTable& table, const std::string& platform) {
  for (const CodePlatform& known : table.platforms) {
    if (known.name == platform) return known.missing;
  }
  return std::nullopt;
}

bool is_worse(std::string_view name, std::int64_t before, std::int64_t after) {
  if (name == "spilled") return after > before;
  return (name == "waves" || name == "matrix") && after < before;
}

std::vector<NumberChange> numbers_between(const KernelResources& before, const KernelResources& after) {
  std::vector<NumberChange> changes;
  for (const auto& [name, value] : resource_numbers()) {
    if (before.*value == after.*value) continue;
    const bool both = (before.*value).has_value() && (after.*value).has_value();
    changes.push_back(
        {name, before.*value, after.*value, both && is_worse(name, *(before.*value), *(after.*value))});
  }
  return changes;
}

}  // namespace

std::string_view name_of(Fate fate) {
  switch (fate) {
    case Fate::changed:
      return "changed";
    case Fate::gone:
      return "gone";
    case Fate::appeared:
      return "new";
  }
  return "";
}

bool KernelChange::worse() const {
  return std::any_of(numbers.begin(), numbers.end(), [](const NumberChange& change) { return change.worse; });
}

bool ResourceChanges::worse() const {
  return std::any_of(kernels.begin(), kernels.end(),
                     [](const KernelChange& change) { return change.worse(); });
}

ResourceChanges changes_between(const ResourceTable& before, const ResourceTable& after) {
  const std::set<Target> targets_before = targets_of(before);
  const std::set<Target> targets_after = targets_of(after);
  ResourceChanges changes;
  for (const Target& target : targets_before) {
    if (const auto reason = missing_in(after, target.first)) {
      changes.unknown.push_back(fmt::format("{} {}: {}", target.first, target.second, *reason));
      continue;
    }
    if (targets_after.contains(target)) continue;
    changes.not_compared.push_back(
        fmt::format("{} {}: only the baseline has its kernels", target.first, target.second));
  }
  for (const Target& target : targets_after) {
    if (targets_before.contains(target)) continue;
    changes.not_compared.push_back(
        fmt::format("{} {}: the baseline does not have its kernels", target.first, target.second));
  }

  std::map<Key, const KernelResources*> left;  // of before
  for (const KernelResources& kernel : before.kernels) {
    if (targets_after.contains({kernel.platform, kernel.arch})) left[key_of(kernel)] = &kernel;
  }
  for (const KernelResources& kernel : after.kernels) {
    if (!targets_before.contains({kernel.platform, kernel.arch})) continue;
    const auto found = left.find(key_of(kernel));
    if (found == left.end()) {
      changes.kernels.push_back({Fate::appeared, kernel, {}});
      continue;
    }
    ++changes.compared;
    std::vector<NumberChange> numbers = numbers_between(*found->second, kernel);
    if (!numbers.empty()) changes.kernels.push_back({Fate::changed, kernel, std::move(numbers)});
    left.erase(found);
  }
  for (const auto& [key, kernel] : left) changes.kernels.push_back({Fate::gone, *kernel, {}});
  return changes;
}

}  // namespace fmha_bwd
