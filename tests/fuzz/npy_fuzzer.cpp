// The input is a .npy file.
#include "src/files/npy.h"
#include "tests/fuzz/harness.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fmha_bwd;
  const std::string_view file = text_of(data, size);
  NpyHeader header;
  if (!takes(
          [&] { header = npy_header_from(file.substr(0, kMaxNpyStart), file.size(), "--load: 'x.npy'"); })) {
    return 0;
  }
  const auto data_bytes = static_cast<std::uint64_t>(header.elements()) * size_of(header.type);
  require(header.data_begin + data_bytes == file.size(), "data that do not fill the file");

  const std::string start = npy_start_of(header.type, header.shape);
  require(start.size() % 64 == 0, "data that do not begin at a multiple of 64 bytes");
  if (start.size() > kMaxNpyStart) return 0;
  const NpyHeader again = npy_header_from(start, start.size() + data_bytes, "");
  require(again.type == header.type && again.shape == header.shape,
          "a header that changes when it is written");
  return 0;
}
