// The header: a magic string, a version, a length and a Python dict with three keys.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include "base/error.h"
#include "src/files/npy.h"

namespace fmha_bwd {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr std::string_view kAllowedTypes = "allowed are '<f2', '<f4', and '<u2' or '|V2' for bfloat16";

struct NamedType {
  std::string_view descr;
  NpyType type;
};

/// Those that are written come first.
constexpr std::array<NamedType, 7> kTypes = {{{"<f2", NpyType::float16},
                                              {"<f4", NpyType::float32},
                                              {"<u2", NpyType::bits16},
                                              {"|b1", NpyType::boolean},
                                              {"|V2", NpyType::bits16},
                                              {"<V2", NpyType::bits16},
                                              {"|u1", NpyType::boolean}}};

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// Text from a file, fit for a message: short and without control characters.
std::string quoted(std::string_view text) {
  std::string result(text.substr(0, 40));
  for (char& c : result) {
    if (c < ' ' || c > '~') c = '?';
  }
  return "'" + result + (text.size() > 40 ? "...'" : "'");
}

/// Reads the dict {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }, its keys in any order.
class Dict {
 public:
  Dict(std::string_view text, const std::string& where) : rest_(text), where_(where) {}

  NpyHeader header() {
    NpyHeader header;
    bool has_type = false;
    bool has_order = false;
    bool has_shape = false;
    const auto once = [&](bool& seen, std::string_view key) {
      if (seen) refuse("has the key " + quoted(key) + " twice in its header");
      seen = true;
    };
    expect('{');
    while (!take('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr") {
        once(has_type, key);
        header.type = type();
      } else if (key == "fortran_order") {
        once(has_order, key);
        require_c_order();
      } else if (key == "shape") {
        once(has_shape, key);
        header.shape = shape();
      } else {
        refuse("has the unknown key " + quoted(key) + " in its header");
      }
      if (take(',')) continue;
      expect('}');
      break;
    }
    skip_space();
    if (!rest_.empty()) malformed();
    if (!has_type) refuse("has no 'descr' in its header");
    if (!has_order) refuse("has no 'fortran_order' in its header");
    if (!has_shape) refuse("has no 'shape' in its header");
    return header;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ExitCode::bad_usage, where_ + " " + what);
  }
  [[noreturn]] void malformed() const {
    refuse("has a malformed header" + (rest_.empty() ? " that ends early" : ", at " + quoted(rest_)));
  }

  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }
  bool take(char c) {
    skip_space();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!take(c)) malformed();
  }
  bool take_word(std::string_view word) {
    skip_space();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  /// Between single or double quotes; escapes have no place in a key or a type.
  std::string_view string() {
    const bool double_quotes = take('"');
    if (!double_quotes) expect('\'');
    const std::size_t end = rest_.find_first_of("'\"\\\n");
    if (end == std::string_view::npos || rest_[end] != (double_quotes ? '"' : '\'')) malformed();
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }

  NpyType type() {
    skip_space();
    if (rest_.starts_with('[')) refuse("has a structured dtype; " + std::string(kAllowedTypes));
    const std::string_view descr = string();
    const auto found = std::find_if(kTypes.begin(), kTypes.end(),
                                    [&](const NamedType& named) { return named.descr == descr; });
    if (found != kTypes.end()) return found->type;
    refuse("has the dtype " + quoted(descr) + (descr.starts_with('>') ? ", which is big-endian; " : "; ") +
           std::string(kAllowedTypes));
  }

  void require_c_order() {
    if (take_word("True")) refuse("is in Fortran order; allowed is C order (numpy.ascontiguousarray)");
    if (!take_word("False")) malformed();
  }

  std::int64_t extent() {
    skip_space();
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error == std::errc::result_out_of_range) refuse("has a shape that overflows 63 bits");
    if (error != std::errc()) malformed();
    if (value < 0) refuse("has a negative extent in its shape");
    rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()));
    return value;
  }

  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> extents;
    expect('(');
    while (!take(')')) {
      extents.push_back(extent());
      if (take(',')) continue;
      expect(')');
      if (extents.size() == 1) refuse("has a shape that is not a tuple");
      break;
    }
    return extents;
  }

  std::string_view rest_;
  const std::string& where_;
};

/// Bytes of the elements; nothing where they are more than 63 bits count.
std::optional<std::uint64_t> data_bytes(const NpyHeader& header) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t bytes = size_of(header.type);
  for (const std::int64_t extent : header.shape) {
    if (extent != 0 && bytes > kMost / static_cast<std::uint64_t>(extent)) return std::nullopt;
    bytes *= static_cast<std::uint64_t>(extent);
  }
  return bytes;
}

}  // namespace

std::size_t size_of(NpyType type) {
  switch (type) {
    case NpyType::float16:
    case NpyType::bits16:
      return 2;
    case NpyType::float32:
      return 4;
    case NpyType::boolean:
      return 1;
  }
  return 0;
}

std::int64_t NpyHeader::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product *= extent;
  return product;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "(";
  for (const std::int64_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + (shape.size() == 1 ? ",)" : ")");
}

NpyHeader npy_header_from(std::string_view start, std::uint64_t file_size, const std::string& where) {
  const auto refuse = [&](const std::string& what) { throw Error(ExitCode::bad_usage, where + " " + what); };
  if (!start.starts_with(kMagic)) refuse("is not a .npy file: it does not begin with \\x93NUMPY");
  if (start.size() < 8) refuse("is cut off within its header");
  const int major = static_cast<unsigned char>(start[6]);
  const int minor = static_cast<unsigned char>(start[7]);
  if (major < 1 || major > 3 || minor != 0) {
    refuse("has .npy format " + std::to_string(major) + "." + std::to_string(minor) +
           "; allowed are 1.0, 2.0 and 3.0");
  }
  const std::size_t dict_begin = major == 1 ? 10 : 12;
  if (start.size() < dict_begin) refuse("is cut off within its header");
  const std::uint64_t length = little_endian(start.substr(8, dict_begin - 8));
  if (length > kMaxNpyStart - dict_begin) {
    refuse("has a header of " + std::to_string(length) + " bytes; allowed are " +
           std::to_string(kMaxNpyStart - dict_begin));
  }
  if (length > start.size() - dict_begin) refuse("is cut off within its header");

  NpyHeader header = Dict(start.substr(dict_begin, static_cast<std::size_t>(length)), where).header();
  header.data_begin = dict_begin + length;
  const auto expected = data_bytes(header);
  if (!expected) refuse("has a shape that overflows 63 bits");
  const std::uint64_t present = file_size - header.data_begin;
  if (present != *expected) {
    refuse("has " + std::to_string(present) + " bytes of data, not the " + std::to_string(*expected) +
           " of its shape " + shape_text(header.shape));
  }
  return header;
}

std::string npy_start_of(NpyType type, const std::vector<std::int64_t>& shape) {
  const auto named =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const NamedType& entry) { return entry.type == type; });
  std::string dict = "{'descr': '" + std::string(named->descr) +
                     "', 'fortran_order': False, 'shape': " + shape_text(shape) + ", }";
  dict.append((64 - (10 + dict.size() + 1) % 64) % 64, ' ');
  dict += '\n';
  const auto low = static_cast<char>(dict.size() & 0xff);
  const auto high = static_cast<char>(dict.size() >> 8);
  return std::string(kMagic) + std::string{1, 0, low, high} + dict;
}

}  // namespace fmha_bwd
