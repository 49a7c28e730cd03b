#include "src/files/npy.h"

#include <algorithm>

#include "src/files/whole_file.h"

namespace fmha_bwd {

NpyHeader read_npy_header(const std::filesystem::path& path, const std::string& option) {
  const std::uint64_t size = size_of_file(path, option);
  std::string start(static_cast<std::size_t>(std::min<std::uint64_t>(size, kMaxNpyStart)), '\0');
  read_file(path, 0, std::as_writable_bytes(std::span(start)), option);
  return npy_header_from(start, size, place_text(option, path));
}

std::vector<std::byte> read_npy_data(const std::filesystem::path& path, const NpyHeader& header,
                                     const std::string& option) {
  std::vector<std::byte> data(static_cast<std::size_t>(header.elements()) * size_of(header.type));
  read_file(path, header.data_begin, data, option);
  return data;
}

void write_npy(const std::filesystem::path& path, NpyType type, const std::vector<std::int64_t>& shape,
               std::span<const std::byte> data, const std::string& option) {
  const std::string start = npy_start_of(type, shape);
  write_file(path, {std::as_bytes(std::span(start)), data}, option);
}

}  // namespace fmha_bwd
