#include "src/text_width.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace fmha_bwd {
namespace {

struct CodePoint {
  std::uint32_t value;
  std::size_t bytes;
};

/// The first code point of `text`, which is not empty; a malformed byte stands for itself.
CodePoint first_of(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::uint32_t lead = byte(0);
  const std::size_t bytes = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF8 ? 4 : 1;
  if (bytes == 1 || bytes > text.size()) return {lead, 1};
  std::uint32_t value = lead & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0u) != 0x80u) return {lead, 1};
    value = value << 6 | (byte(i) & 0x3Fu);
  }
  return {value, bytes};
}

struct Interval {
  std::uint32_t first;
  std::uint32_t last;
};

constexpr std::array<Interval, 4> kCombining = {
    {{0x0300, 0x036F}, {0x200B, 0x200D}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}}};
constexpr std::array<Interval, 9> kWide = {{{0x1100, 0x115F},
                                            {0x2E80, 0xA4CF},
                                            {0xAC00, 0xD7A3},
                                            {0xF900, 0xFAFF},
                                            {0xFE30, 0xFE6F},
                                            {0xFF00, 0xFF60},
                                            {0xFFE0, 0xFFE6},
                                            {0x1F300, 0x1FAFF},
                                            {0x20000, 0x3FFFD}}};

std::size_t width_of(std::uint32_t code_point) {
  const auto holds = [code_point](const Interval& interval) {
    return interval.first <= code_point && code_point <= interval.last;
  };
  if (std::any_of(kCombining.begin(), kCombining.end(), holds)) return 0;
  return std::any_of(kWide.begin(), kWide.end(), holds) ? 2 : 1;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const CodePoint point = first_of(text);
    width += width_of(point.value);
    text.remove_prefix(point.bytes);
  }
  return width;
}

std::string truncated(std::string_view text, std::size_t columns) {
  std::size_t length = 0;
  while (length < text.size()) {
    const CodePoint point = first_of(text.substr(length));
    const std::size_t width = width_of(point.value);
    if (width > columns) break;
    columns -= width;
    length += point.bytes;
  }
  return std::string(text.substr(0, length));
}

}  // namespace fmha_bwd
