// NumPy's .npy files (NEP 1; format 1.0, 2.0 and 3.0), as far as tensors need them: little-endian, C order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fmha_bwd {

/// What one element is.
enum class NpyType {
  float16,  // '<f2'
  float32,  // '<f4'
  bits16,   // '<u2', '|V2' or '<V2': bfloat16, which NumPy has no name for
  boolean,  // '|b1' or '|u1'
};

/// Bytes of one element.
std::size_t size_of(NpyType type);

struct NpyHeader {
  NpyType type = NpyType::float32;
  std::vector<std::int64_t> shape;  // its product and the bytes of all elements fit in 63 bits
  std::uint64_t data_begin = 0;     // bytes before the first element

  std::int64_t elements() const;
};

/// "(2, 3)", as Python writes it.
std::string shape_text(const std::vector<std::int64_t>& shape);

/// The longest header that is read, with what is before it, in bytes.
inline constexpr std::size_t kMaxNpyStart = 65536 + 12;

/// The header of a file of `file_size` bytes that begins with `start`: the whole file, or its first
/// kMaxNpyStart bytes. Throws Error (bad_usage), "`where` and what is wrong", unless the file has exactly the
/// data that the header says.
NpyHeader npy_header_from(std::string_view start, std::uint64_t file_size, const std::string& where);

/// The bytes from magic string to header's end of a format 1.0 file; a multiple of 64 of them. bits16 is
/// '<u2', so that plain NumPy can compute with it: (a.astype('u4') << 16).view('f4').
std::string npy_start_of(NpyType type, const std::vector<std::int64_t>& shape);

/// The header of a file, which is checked as npy_header_from says. `option` begins the error's message, which
/// names the file.
NpyHeader read_npy_header(const std::filesystem::path& path, const std::string& option);
/// The bytes of its elements.
std::vector<std::byte> read_npy_data(const std::filesystem::path& path, const NpyHeader& header,
                                     const std::string& option);
/// Writes the file in one go: it is never there in part. Throws Error (device_error) where that fails.
void write_npy(const std::filesystem::path& path, NpyType type, const std::vector<std::int64_t>& shape,
               std::span<const std::byte> data, const std::string& option);

}  // namespace fmha_bwd
