#include "src/report/bench/page.h"

#include <map>
#include <string_view>

#include "src/report/bench/page_sources.h"

namespace fmha_bwd {
namespace {

std::string html_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

/// The text with each {{name}} replaced by parts.at(name), once: what is put in is not looked at again.
std::string filled(std::string_view text, const std::map<std::string_view, std::string_view>& parts) {
  std::string result;
  for (std::size_t open = text.find("{{"); open != std::string_view::npos; open = text.find("{{")) {
    const std::size_t close = text.find("}}", open);
    result += text.substr(0, open);
    result += parts.at(text.substr(open + 2, close - open - 2));
    text.remove_prefix(close + 2);
  }
  return result.append(text);
}

}  // namespace

std::string page_of(const BenchReport& report) {
  const std::string title = html_escaped(report.title);
  const std::string data = page_data(report);
  return filled(kPageTemplate,
                {{"title", title}, {"style", kPageStyle}, {"data", data}, {"script", kPageScript}});
}

}  // namespace fmha_bwd
