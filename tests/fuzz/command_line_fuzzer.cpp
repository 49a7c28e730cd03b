// The input is a command line, an argument a line (or between NULs).
#include <vector>

#include "src/options.h"
#include "tests/fuzz/harness.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fmha_bwd;
  std::vector<std::string> words = {"fmha_bwd"};
  std::string text(text_of(data, size));
  std::replace(text.begin(), text.end(), '\n', '\0');
  for (std::size_t begin = 0; begin < text.size();) {
    words.emplace_back(text.c_str() + begin);
    begin += words.back().size() + 1;
  }
  const auto parse = [](const std::vector<std::string>& arguments) {
    std::vector<const char*> argv;
    for (const std::string& argument : arguments) argv.push_back(argument.c_str());
    return parse_command_line(static_cast<int>(argv.size()), argv.data());
  };
  CommandLine line;
  if (!takes([&] { line = parse(words); })) return 0;
  if (line.request != Request::run) return 0;
  require(complaint_about(line.options.problem) == std::nullopt, "a problem that cannot be computed");
  require(!line.options.masks.empty(), "no mask");

  const MaskSpec& mask = line.options.masks.front();
  std::vector<std::string> arguments = reproducing_arguments(line.options, mask);
  arguments.insert(arguments.begin(), "fmha_bwd");
  CommandLine again;
  require(takes([&] { again = parse(arguments); }), "a reproducing command that is refused");
  require(again.options.masks == std::vector{mask}, "a reproducing command with another mask");
  require(reproducing_arguments(again.options, mask) == reproducing_arguments(line.options, mask),
          "a reproducing command that has another");
  return 0;
}
