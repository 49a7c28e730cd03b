#include "src/files/whole_file.h"

#include <cerrno>
#include <fstream>
#include <system_error>

#include "base/error.h"

namespace fmha_bwd {
namespace {

std::string reason(int error) {
  return error == 0 ? "unknown error" : std::generic_category().message(error);
}

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& option,
                         const std::string& what) {
  throw Error(ExitCode::bad_usage, place_text(option, path) + " " + what);
}

}  // namespace

std::string place_text(const std::string& option, const std::filesystem::path& path) {
  return option + ": '" + path.string() + "'";
}

std::uint64_t size_of_file(const std::filesystem::path& path, const std::string& option) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) refuse(path, option, "cannot be read: " + error.message());
  if (!std::filesystem::is_regular_file(status)) refuse(path, option, "is not a regular file");
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (error) refuse(path, option, "cannot be read: " + error.message());
  return size;
}

void read_file(const std::filesystem::path& path, std::uint64_t offset, std::span<std::byte> bytes,
               const std::string& option) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(path, option, "cannot be read: " + reason(errno));
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) refuse(path, option, file.eof() ? "has become shorter" : "cannot be read: " + reason(errno));
}

void write_file(const std::filesystem::path& path, std::initializer_list<std::span<const std::byte>> parts,
                const std::string& option) {
  const auto fail = [&](const std::filesystem::path& what, const std::string& why) {
    throw Error(ExitCode::device_error, place_text(option, what) + " cannot be written: " + why);
  };
  std::error_code error;
  const std::filesystem::path folder = path.parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) fail(folder, error.message());

  const std::filesystem::path part_path = path.string() + ".part";
  errno = 0;
  std::ofstream file(part_path, std::ios::binary | std::ios::trunc);
  for (const auto& part : parts) {
    file.write(reinterpret_cast<const char*>(part.data()), static_cast<std::streamsize>(part.size()));
  }
  file.close();
  if (!file) {
    const std::string why = reason(errno);
    std::filesystem::remove(part_path, error);
    fail(path, why);
  }
  std::filesystem::rename(part_path, path, error);
  if (!error) return;
  const std::string why = error.message();
  std::filesystem::remove(part_path, error);
  fail(path, why);
}

}  // namespace fmha_bwd
