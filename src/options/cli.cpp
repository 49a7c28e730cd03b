#include "src/options/cli.h"

#include <memory>

#include "base/error.h"
#include "src/options/values.h"

namespace fmha_bwd {
namespace {

/// Without what CLI11 says of a flag that is turned off: "{false}".
class Formatter : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    return CLI::detail::find_and_replace(CLI::Formatter::make_option_name(option, is_positional), "{false}",
                                         "");
  }
};

/// The first line of CLI11's complaint that names an option; its own messages are one line each.
std::string one_line(const CLI::ParseError& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

}  // namespace

void set_manners(CLI::App& app) {
  app.set_help_flag();
  app.allow_extras();
  app.option_defaults()->take_last();
  const auto formatter = std::make_shared<Formatter>();
  formatter->column_width(26);
  app.formatter(formatter);
}

std::vector<std::string> parse_words(CLI::App& app, const std::vector<std::string>& words) {
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what();  // begins with the option's name; with a flag's without its dashes
    const std::string name = text.substr(0, text.find_first_of(": "));
    if (!name.starts_with('-')) refuse("--" + name, "takes no value");
    refuse(name, "no value given; see --help");
  } catch (const CLI::ParseError& error) {
    throw Error(ExitCode::bad_usage, one_line(error));
  }
  std::vector<std::string> extras = app.remaining();
  std::erase(extras, "--");
  return extras;
}

void refuse_extras(const std::vector<std::string>& extras) {
  if (extras.empty()) return;
  refuse(extras.front(), extras.front().starts_with('-')
                             ? "no such option; see --help"
                             : "not an option; every value follows its option, see --help");
}

std::string help_of(const CLI::App& app) {
  return CLI::detail::find_and_replace(app.help(), "\n\n\n", "\n\n");
}

}  // namespace fmha_bwd
