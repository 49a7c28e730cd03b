#include "bench/merge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

#include "bench/alike.h"

namespace fmha_bwd {
namespace {

/// The worst first.
constexpr std::array<ExitCode, 6> kFailures = {ExitCode::wrong_numbers, ExitCode::device_error,
                                               ExitCode::bad_usage,     ExitCode::regression,
                                               ExitCode::unclear,       ExitCode::unsupported};

void require_alike(const NamedResults& first, const NamedResults& part) {
  std::vector<std::string> lines = unlike_contexts(first.results.context, part.results.context);
  for (std::string& line : unlike_settings(first.results.context, part.results.context)) {
    lines.push_back(std::move(line));
  }
  if (lines.empty()) return;
  throw Error(ExitCode::bad_usage, fmt::format("'{}' and '{}' are not parts of one run: {}", first.name,
                                               part.name, lines.front()));
}

std::string commands_of(std::span<const NamedResults> parts) {
  std::vector<std::string> commands;
  std::string text;
  for (const NamedResults& part : parts) {
    const std::string& command = part.results.context.command;
    if (std::find(commands.begin(), commands.end(), command) != commands.end()) continue;
    text += commands.empty() ? command : " ; " + command;
    commands.push_back(command);
  }
  return text;
}

/// The marks of all parts, in an order that is not theirs; none where a part has none.
std::string in_turn_of(std::span<const NamedResults> parts) {
  std::set<std::string> marks;
  for (const NamedResults& part : parts) marks.insert(part.results.context.in_turn);
  return marks.contains("") ? "" : fmt::format("{}", fmt::join(marks, " "));
}

/// Where a case came from.
struct Source {
  const BenchCase* item;
  const NamedResults* part;
};

ExitCode failure_of(const BenchCase& item) {
  const auto code = static_cast<ExitCode>(item.exit_code);
  if (std::find(kFailures.begin(), kFailures.end(), code) != kFailures.end()) return code;
  return item.error.empty() && item.exit_code == 0 ? ExitCode::passed : ExitCode::device_error;
}

}  // namespace

BenchResults merge(std::span<const NamedResults> parts) {
  if (parts.empty()) throw Error(ExitCode::bad_usage, "nothing to merge");
  BenchResults whole;
  whole.context = parts.front().results.context;
  whole.context.command = commands_of(parts);
  whole.context.in_turn = in_turn_of(parts);
  std::map<std::string_view, Source> seen;
  for (const NamedResults& part : parts) {
    require_alike(parts.front(), part);
    for (const BenchCase& item : part.results.cases) {
      const auto [before, is_new] = seen.emplace(item.name, Source{&item, &part});
      if (is_new) {
        whole.cases.push_back(item);
      } else if (!(*before->second.item == item)) {
        throw Error(ExitCode::bad_usage, fmt::format("'{}' and '{}' both have the case '{}', and it differs",
                                                     before->second.part->name, part.name, item.name));
      }
    }
  }
  std::stable_sort(whole.cases.begin(), whole.cases.end(),
                   [](const BenchCase& one, const BenchCase& other) { return one.index < other.index; });
  return whole;
}

ExitCode exit_code_of(const BenchResults& results) {
  std::vector<ExitCode> codes;
  for (const BenchCase& item : results.cases) codes.push_back(failure_of(item));
  const bool incomplete = std::any_of(results.cases.begin(), results.cases.end(), [&](const BenchCase& item) {
    return item.error.empty() && static_cast<std::int64_t>(item.rounds.size()) < results.context.rounds;
  });
  if (incomplete) codes.push_back(ExitCode::unclear);
  // What no kernel takes does not count beside what ran.
  std::erase(codes, ExitCode::unsupported);
  if (codes.empty()) return ExitCode::unsupported;
  for (const ExitCode failure : kFailures) {
    if (std::find(codes.begin(), codes.end(), failure) != codes.end()) return failure;
  }
  return ExitCode::passed;
}

}  // namespace fmha_bwd
