#include "base/mask_spec.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/problem.h"

namespace fmha_bwd {
namespace {

constexpr const char* kAllowed =
    "allowed are no_mask, top_left[:L,R], bottom_right[:L,R], prefix:N, document:N,..., "
    "document_causal:N,..., "
    "generic:Y,X and the short forms 0 n 1 t 2 b t:L,R b:L,R xt:W xb:W g:Y,X";

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

[[noreturn]] void refuse(std::initializer_list<std::string_view> complaint) {
  throw Error(ExitCode::bad_usage, joined({"--mask: ", joined(complaint)}));
}

/// A name and its numbers, as they were written.
struct Item {
  std::string name;
  std::vector<std::int64_t> numbers;
  bool has_colon = false;

  std::string text() const {
    std::string result = name + (has_colon ? ":" : "");
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (i > 0) result += ',';
      result += std::to_string(numbers[i]);
    }
    return result;
  }
};

bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::int64_t number_from(std::string_view text, std::string_view where) {
  if (!is_number(text)) refuse({"'", text, "' in '", where, "' is not a whole number"});
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) {
    refuse({"'", text, "' in '", where, "' is not in -2^63..2^63-1"});
  }
  return value;
}

bool is_document(std::string_view name) { return name == "document" || name == "document_causal"; }
bool is_window(std::string_view name) {
  return name == "top_left" || name == "bottom_right" || name == "t" || name == "b";
}
bool is_pair(std::string_view name) { return is_window(name) || name == "generic" || name == "g"; }

/// How many numbers may follow the colon.
std::size_t most_numbers(std::string_view name) {
  if (is_document(name)) return std::numeric_limits<std::size_t>::max();
  return is_pair(name) ? 2 : 1;
}

/// The list cut at its commas; numbers belong to the item before them as far as that takes any.
std::vector<Item> items_of(const std::string& list) {
  std::vector<Item> items;
  std::size_t begin = 0;
  while (begin <= list.size()) {
    const std::size_t comma = std::min(list.find(',', begin), list.size());
    const std::string part = list.substr(begin, comma - begin);
    begin = comma + 1;
    const bool continues = !items.empty() && items.back().has_colon && is_number(part) &&
                           items.back().numbers.size() < most_numbers(items.back().name);
    if (continues) {
      items.back().numbers.push_back(number_from(part, list));
      continue;
    }
    const std::size_t colon = part.find(':');
    Item item{part.substr(0, colon), {}, colon != std::string::npos};
    if (item.has_colon) item.numbers.push_back(number_from(part.substr(colon + 1), part));
    items.push_back(std::move(item));
  }
  return items;
}

/// -1 is no limit, and so is what exceeds every length.
std::int64_t limit_from(std::int64_t size, const Item& item) {
  if (size < -1) refuse({"'", item.text(), "' has a window size below -1; -1 is no limit"});
  return size == -1 ? kUnbounded : std::min(size, kUnbounded);
}

MaskSpec window(Alignment alignment, std::int64_t left, std::int64_t right) {
  MaskSpec mask;
  mask.left = left;
  mask.right = right;
  const bool all = left == kUnbounded && right == kUnbounded;
  mask.alignment = all ? kNoMask.alignment : alignment;
  return mask;
}

void require_numbers(const Item& item, std::size_t count) {
  if (item.numbers.size() == count) return;
  refuse({"'", item.text(), "' takes ", std::to_string(count), count == 1 ? " number" : " numbers",
          " after its colon, not ", std::to_string(item.numbers.size())});
}

MaskSpec window_from(const Item& item) {
  const bool top_left = item.name.starts_with('t');
  if (!item.has_colon) return top_left ? kTopLeft : kBottomRight;
  require_numbers(item, 2);
  return window(top_left ? Alignment::top_left : Alignment::bottom_right, limit_from(item.numbers[0], item),
                limit_from(item.numbers[1], item));
}

/// A window given by how many keys it has.
MaskSpec centred_from(const Item& item) {
  require_numbers(item, 1);
  const Alignment alignment = item.name == "xt" ? Alignment::top_left : Alignment::bottom_right;
  const std::int64_t keys = item.numbers[0];
  if (keys <= 0) return window(alignment, kUnbounded, 0);
  const std::int64_t left = keys / 2;
  return window(alignment, std::min(left, kUnbounded), std::min(keys - 1 - left, kUnbounded));
}

MaskSpec generic_from(const Item& item) {
  require_numbers(item, 2);
  const auto size = [](std::int64_t x) { return std::clamp(x, -kUnbounded, kUnbounded + 1) - 1; };
  return window(Alignment::top_left, size(item.numbers[0]), size(item.numbers[1]));
}

MaskSpec prefix_from(const Item& item) {
  require_numbers(item, 1);
  if (item.numbers[0] < 0) refuse({"'", item.text(), "' has a negative prefix; allowed is 0 or more"});
  MaskSpec mask = kTopLeft;
  mask.prefix = std::min(item.numbers[0], kUnbounded);
  return mask;
}

MaskSpec documents_from(const Item& item) {
  if (item.numbers.empty()) refuse({"'", item.text(), "' has no lengths; allowed is document:N,N,..."});
  MaskSpec mask = item.name == "document_causal" ? kTopLeft : kNoMask;
  mask.alignment = Alignment::top_left;
  std::int64_t end = 0;
  for (const std::int64_t length : item.numbers) {
    if (length < 1 || length > kMaxExtent) {
      refuse({"'", item.text(), "' has a document of ", std::to_string(length), " tokens; allowed is 1..",
              std::to_string(kMaxExtent)});
    }
    end = std::min(end + length, kUnbounded);
    mask.document_ends.push_back(end);
  }
  return mask;
}

MaskSpec mask_from(const Item& item) {
  const std::string& name = item.name;
  if (is_window(name)) return window_from(item);
  if (name == "xt" || name == "xb") return centred_from(item);
  if (name == "generic" || name == "g") return generic_from(item);
  if (name == "prefix") return prefix_from(item);
  if (is_document(name)) return documents_from(item);
  const bool plain = !item.has_colon;
  if (plain && (name == "no_mask" || name == "0" || name == "n")) return kNoMask;
  if (plain && name == "1") return kTopLeft;
  if (plain && name == "2") return kBottomRight;
  if (plain && is_number(name)) {
    refuse({"'", name, "' is not a mask, nor a number of the one before it; ", kAllowed});
  }
  refuse({"'", item.text(), "' is not a mask; ", kAllowed});
}

std::string limit_text(std::int64_t limit) { return limit >= kUnbounded ? "-1" : std::to_string(limit); }

std::string documents_text(const std::vector<std::int64_t>& ends) {
  std::string text;
  std::int64_t begin = 0;
  for (const std::int64_t end : ends) {
    if (!text.empty()) text += ',';
    text += std::to_string(end - begin);
    begin = end;
  }
  return text;
}

}  // namespace

MaskRule MaskSpec::rule() const {
  return {alignment,
          left,
          right,
          prefix,
          document_ends.empty() ? nullptr : document_ends.data(),
          static_cast<std::int64_t>(document_ends.size())};
}

const std::vector<MaskSpec>& basic_masks() {
  static const std::vector<MaskSpec> masks = {kNoMask, kTopLeft, kBottomRight};
  return masks;
}

std::string name_of(const MaskSpec& mask) {
  if (!mask.document_ends.empty()) {
    return joined({mask.right == 0 ? "document_causal:" : "document:", documents_text(mask.document_ends)});
  }
  if (mask.prefix > 0) return joined({"prefix:", std::to_string(mask.prefix)});
  if (mask.left < 0 || mask.right < 0) {
    return joined({"generic:", std::to_string(mask.left + 1), ",", std::to_string(mask.right + 1)});
  }
  if (mask.left >= kUnbounded && mask.right >= kUnbounded) return "no_mask";
  const std::string_view corner = mask.alignment == Alignment::top_left ? "top_left" : "bottom_right";
  if (mask.left >= kUnbounded && mask.right == 0) return std::string(corner);
  return joined({corner, ":", limit_text(mask.left), ",", limit_text(mask.right)});
}

std::vector<MaskSpec> masks_from(const std::string& list) {
  std::vector<MaskSpec> masks;
  for (const Item& item : items_of(list)) {
    MaskSpec mask = mask_from(item);
    if (std::find(masks.begin(), masks.end(), mask) == masks.end()) masks.push_back(std::move(mask));
  }
  return masks;
}

MaskSpec shifted(const MaskSpec& mask, std::int64_t keys) {
  MaskSpec moved = mask;
  if (moved.left < kUnbounded) moved.left -= keys;
  if (moved.right < kUnbounded) moved.right += keys;
  return moved;
}

}  // namespace fmha_bwd
