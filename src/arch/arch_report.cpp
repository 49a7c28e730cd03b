#include "src/arch/arch_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "src/report/columns.h"
#include "src/report/csv.h"
#include "src/version.h"

namespace fmha_bwd {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

constexpr std::string_view kLegend =
    R"(  vector, agpr   vector and accumulation registers a thread; on gfx90a, gfx942 and gfx950 the first
                 counts both
  scalar         scalar registers a wave
  spilled        AMD: vector registers; NVIDIA: instructions that load or store local memory
  scratch        bytes a thread: stack, and what was spilled
  shared         static bytes a workgroup, from sm_90 on with 1024 of the system's; what a launch adds is
                 in no code object
  waves          most waves (warps) at a time on a SIMD (scheduler), as registers alone limit them
  matrix, loop   matrix instructions in the loop that has most of them, and all of its instructions
)";

std::string text_of(const KernelResources::Number& number) {
  return number ? fmt::format("{}", *number) : "-";
}

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// The kernels of one architecture.
using Kernels = std::span<const KernelResources>;

/// "nvidia sm_90a: 80 kernels, 32 of them spill, 8 have matrix instructions in a loop".
std::string heading_of(const Kernels& kernels) {
  const auto count = [&](KernelResources::Number KernelResources::*number) {
    return std::count_if(kernels.begin(), kernels.end(),
                         [&](const KernelResources& kernel) { return (kernel.*number).value_or(0) > 0; });
  };
  return fmt::format("{} {}: {}, {} of them spill, {} have matrix instructions in a loop\n",
                     kernels.front().platform, kernels.front().arch, counted(kernels.size(), "kernel"),
                     count(&KernelResources::spilled), count(&KernelResources::matrix));
}

/// Numbers that no kernel of the platform has are left out.
std::string table_of(const Kernels& kernels, bool colour) {
  std::vector<ResourceNumber> shown;
  for (const ResourceNumber& number : resource_numbers()) {
    if (std::any_of(kernels.begin(), kernels.end(),
                    [&](const KernelResources& kernel) { return (kernel.*number.value).has_value(); })) {
      shown.push_back(number);
    }
  }
  std::vector<Heading> headings = {{"family", Align::left}, {"kernel", Align::left}};
  for (const ResourceNumber& number : shown) {
    std::string name(number.name);
    std::replace(name.begin(), name.end(), '_', ' ');
    headings.push_back({name});
  }
  Columns columns(headings);
  for (const KernelResources& kernel : kernels) {
    std::vector<Cell> row = {{kernel.family}, {kernel.kernel}};
    for (const ResourceNumber& number : shown) {
      const bool bad = number.value == &KernelResources::spilled && kernel.spilled.value_or(0) > 0;
      row.push_back({text_of(kernel.*number.value), bad ? Style::bad : Style::plain});
    }
    columns.add(row);
  }
  return columns.text(colour);
}

std::string listing(const ResourceTable& table, bool quiet, bool colour) {
  std::string text;
  for (const CodePlatform& platform : table.platforms) {
    if (!platform.missing) continue;
    text +=
        fmt::format("{}: {}; {}\n", platform.name, fmt::join(platform.architectures, " "), *platform.missing);
  }
  for (auto begin = table.kernels.begin(); begin != table.kernels.end();) {
    const auto end = std::find_if(begin, table.kernels.end(), [&](const KernelResources& kernel) {
      return kernel.platform != begin->platform || kernel.arch != begin->arch;
    });
    const Kernels kernels(begin, end);
    if (!quiet && !text.empty()) text += "\n";
    text += heading_of(kernels);
    if (!quiet) text += table_of(kernels, colour);
    begin = end;
  }
  if (!quiet && !table.kernels.empty()) text += fmt::format("\n{}", kLegend);
  return text;
}

/// "spilled 0 -> 7, waves 3 -> 2".
std::string numbers_text(const KernelChange& change) {
  std::vector<std::string> parts;
  for (const NumberChange& number : change.numbers) {
    parts.push_back(fmt::format("{} {} -> {}", number.name, text_of(number.before), text_of(number.after)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string changes_text(const ResourceChanges& changes, bool quiet, bool colour) {
  Columns columns(
      {{"", Align::left}, {"", Align::left}, {"", Align::left}, {"", Align::left}, {"", Align::left}});
  std::size_t worse = 0;
  for (const KernelChange& change : changes.kernels) {
    if (change.worse()) ++worse;
    if (quiet && !change.worse()) continue;
    const KernelResources& kernel = change.kernel;
    columns.add({{change.worse() ? "worse" : std::string(name_of(change.fate)),
                  change.worse() ? Style::bad : Style::plain},
                 {kernel.platform + " " + kernel.arch},
                 {kernel.family},
                 {kernel.kernel},
                 {numbers_text(change)}});
  }
  std::string text;
  for (const std::string& place : changes.not_compared) text += fmt::format("not compared: {}\n", place);
  text += columns.text(colour);
  return text + fmt::format("{}: {} compared with the baseline, {} changed, gone or new, {} worse\n",
                            worse > 0 ? "worse" : "no worse",
                            counted(static_cast<std::size_t>(changes.compared), "kernel"),
                            changes.kernels.size(), worse);
}

std::string runs_text(const std::vector<EmulatedRun>& runs, bool quiet, bool colour) {
  constexpr std::array kVerdicts = {EmulatedVerdict::passed, EmulatedVerdict::wrong, EmulatedVerdict::stopped,
                                    EmulatedVerdict::refused};
  Columns columns({{"arch", Align::left}, {"family", Align::left}, {"", Align::left}, {"", Align::left}});
  std::string commands;
  for (const EmulatedRun& run : runs) {
    const bool bad = run.verdict == EmulatedVerdict::wrong || run.verdict == EmulatedVerdict::stopped;
    if (bad) commands += fmt::format("again: {}\n", run.command);
    if (quiet && !bad) continue;
    const Style style = bad                                      ? Style::bad
                        : run.verdict == EmulatedVerdict::passed ? Style::good
                                                                 : Style::plain;
    columns.add({{run.arch}, {run.family}, {std::string(name_of(run.verdict)), style}, {run.detail}});
  }
  std::vector<std::string> counts;
  for (const EmulatedVerdict verdict : kVerdicts) {
    const auto count = std::count_if(runs.begin(), runs.end(),
                                     [&](const EmulatedRun& run) { return run.verdict == verdict; });
    if (count > 0) counts.push_back(fmt::format("{} {}", count, name_of(verdict)));
  }
  const bool none_shown = quiet && commands.empty();
  return fmt::format("emulated, against the fp64 reference:\n{}{}{} of {}\n",
                     none_shown ? "" : columns.text(colour), commands, fmt::join(counts, ", "),
                     counted(runs.size(), "run"));
}

Json json_of(const KernelResources::Number& number) { return number ? Json(*number) : Json(nullptr); }

Json json_of(const ResourceChanges& changes) {
  Json list = Json::array();
  for (const KernelChange& change : changes.kernels) {
    Json numbers = Json::object();
    for (const NumberChange& number : change.numbers) {
      numbers[std::string(number.name)] = {
          {"before", json_of(number.before)}, {"after", json_of(number.after)}, {"worse", number.worse}};
    }
    list.push_back({{"change", name_of(change.fate)},
                    {"platform", change.kernel.platform},
                    {"arch", change.kernel.arch},
                    {"family", change.kernel.family},
                    {"kernel", change.kernel.kernel},
                    {"worse", change.worse()},
                    {"numbers", numbers}});
  }
  return {{"compared", changes.compared},
          {"worse", changes.worse()},
          {"not_compared", changes.not_compared},
          {"unknown", changes.unknown},
          {"kernels", list}};
}

Json json_of(const std::vector<EmulatedRun>& runs) {
  Json list = Json::array();
  for (const EmulatedRun& run : runs) {
    list.push_back({{"arch", run.arch},
                    {"family", run.family},
                    {"verdict", name_of(run.verdict)},
                    {"detail", run.detail},
                    {"command", run.command}});
  }
  return list;
}

}  // namespace

std::string arch_text(const ArchReport& report, bool quiet, bool colour) {
  std::string text =
      report.changes ? changes_text(*report.changes, quiet, colour) : listing(report.table, quiet, colour);
  if (report.runs) text += (quiet ? "" : "\n") + runs_text(*report.runs, quiet, colour);
  return text;
}

std::string arch_json(const ArchReport& report) {
  Json json = {{"schema_version", kSchemaVersion}, {"version", version()}};
  json.update(json_of(report.table));
  json["changes"] = report.changes ? json_of(*report.changes) : Json(nullptr);
  json["runs"] = report.runs ? json_of(*report.runs) : Json(nullptr);
  return json.dump(2) + "\n";
}

std::string arch_csv(const ResourceTable& table) {
  std::string text = "platform,arch,family,kernel";
  for (const ResourceNumber& number : resource_numbers()) text += fmt::format(",{}", number.name);
  text += "\n";
  for (const KernelResources& kernel : table.kernels) {
    text += fmt::format("{},{},{},{}", csv_quoted(kernel.platform), csv_quoted(kernel.arch),
                        csv_quoted(kernel.family), csv_quoted(kernel.kernel));
    for (const ResourceNumber& number : resource_numbers()) {
      const KernelResources::Number& value = kernel.*number.value;
      text += value ? fmt::format(",{}", *value) : ",";
    }
    text += "\n";
  }
  return text;
}

}  // namespace fmha_bwd
