#include "src/report/escape.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace fmha_bwd {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// Malformed bytes become U+FFFD.
std::string valid_utf8(const std::string& text) {
  using Json = nlohmann::json;
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    line += byte < 0x20 || byte == 0x7f ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return line;
}

std::string xml_text(std::string_view text) {
  std::string result = valid_utf8(one_line(text));
  for (const char* none : {"\uFFFE", "\uFFFF"}) replace_all(result, none, "\uFFFD");
  replace_all(result, "&", "&amp;");
  replace_all(result, "<", "&lt;");
  replace_all(result, ">", "&gt;");
  replace_all(result, "\"", "&quot;");
  replace_all(result, "'", "&apos;");
  return result;
}

std::string markdown_text(std::string_view text) {
  std::string result;
  for (const char c : one_line(text)) {
    if (std::string_view(R"(\`*_{}[]<>|~#&@)").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string markdown_code(std::string_view text) {
  std::string result = one_line(text);
  if (result.empty() || result.find_first_of("`\\") != std::string::npos) return markdown_text(text);
  replace_all(result, "|", "\\|");
  return "`" + result + "`";
}

}  // namespace fmha_bwd
