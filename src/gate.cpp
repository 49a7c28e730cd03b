#include "src/gate.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>
#include <map>
#include <utility>

#include "bench/alike.h"
#include "src/options/values.h"
#include "src/report/report.h"

namespace fmha_bwd {
namespace {

/// A share of one, from a percentage with its sign.
double share(const std::string& option, const std::string& text) {
  require_value(option, text);
  const std::string complaint =
      fmt::format("'{}' is not allowed; a percentage from 0% to 100%, like 3%", text);
  double percent = -1.0;
  const char* end = text.data() + text.size() - 1;
  const auto [stop, error] = std::from_chars(text.data(), end, percent);
  if (*end != '%' || stop != end || error != std::errc() || !(percent >= 0.0 && percent <= 100.0)) {
    refuse(option, complaint);
  }
  return percent / 100.0;
}

double probability(const std::string& option, const std::string& text) {
  require_value(option, text);
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || error != std::errc() || !(value >= 1e-6 && value <= 0.5)) {
    refuse(option, fmt::format("'{}' is not allowed; a probability from 0.000001 to 0.5", text));
  }
  return value;
}

}  // namespace

void declare_gate(CLI::App& app, GateArguments& arguments) {
  const auto option = [&](const char* name, const char* type, std::optional<std::string>& value,
                          const char* description) {
    app.add_option(name, value, description)->type_name(type)->group("Gate");
  };
  const auto flag = [&](const char* name, bool& value, const char* description) {
    app.add_flag(name, value, description)->group("Gate")->disable_flag_override();
  };
  option(
      "--max-slowdown", "P%", arguments.max_slowdown,
      "a slowdown up to this passes, one shown to be larger is a regression;\nwith the sign, like 3% [1%]");
  option("--alpha", "P", arguments.alpha,
         "probability of calling any case slower that is not, over all cases [0.05]");
  flag("--allow-unlike", arguments.allow_unlike,
       "compare where device, driver, cache state, inputs and so on differ");
  flag("--allow-missing", arguments.allow_missing, "a case that only the baseline has does not count");
  option("--junit", "FILE", arguments.junit, "write the comparison as JUnit XML, too");
  option("--markdown", "FILE", arguments.markdown, "write the comparison as Markdown, too");
}

CompareSettings compare_settings(const GateArguments& arguments) {
  CompareSettings settings;
  if (arguments.max_slowdown) settings.max_slowdown = share("--max-slowdown", *arguments.max_slowdown);
  if (arguments.alpha) settings.alpha = probability("--alpha", *arguments.alpha);
  for (const auto& [option, file] :
       {std::pair("--junit", arguments.junit), std::pair("--markdown", arguments.markdown)}) {
    if (!file) continue;
    require_value(option, *file);
    if (*file == "-") refuse(option, "'-' is not allowed; a file");
  }
  settings.allow_missing = arguments.allow_missing;
  return settings;
}

void require_distinct(const std::vector<std::pair<std::string, std::optional<std::string>>>& files) {
  std::map<std::filesystem::path, std::string> options;
  for (const auto& [option, file] : files) {
    if (!file || *file == "-") continue;
    std::error_code error;
    if (std::filesystem::exists(*file, error) && !std::filesystem::is_regular_file(*file, error)) continue;
    const auto [known, is_new] = options.emplace(std::filesystem::weakly_canonical(*file, error), option);
    if (!is_new)
      refuse(option, fmt::format("'{}' is the file of {}, too; allowed is another", *file, known->second));
  }
}

void require_alike(const BenchResults& base, const BenchResults& latest, bool allow_unlike,
                   const Console& console) {
  const std::vector<std::string> lines = unlike_results(base, latest);
  if (lines.empty()) return;
  const std::string what =
      lines.size() == 1 ? lines.front() : fmt::format("{} (and {} more)", lines.front(), lines.size() - 1);
  if (allow_unlike) {
    print_error(console, "compared although unlike: " + what);
  } else {
    refuse("the baseline and the new run are not comparable", what + "; --allow-unlike compares them");
  }
}

}  // namespace fmha_bwd
