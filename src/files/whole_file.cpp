#include "src/files/whole_file.h"

#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <optional>
#include <system_error>
#include <vector>

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

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& option,
                       const std::string& what) {
  throw Error(ExitCode::device_error, place_text(option, path) + " " + what);
}

/// What a file is called until it is whole.
std::filesystem::path part_of(const std::filesystem::path& path) { return path.string() + ".part"; }

/// Why it cannot be made; nothing where it is there.
std::optional<std::string> make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  return error ? std::optional(error.message()) : std::nullopt;
}

/// Why the file cannot be written; nothing where it was.
std::optional<std::string> write_parts(const std::filesystem::path& path,
                                       std::initializer_list<std::span<const std::byte>> parts) {
  errno = 0;
  std::ofstream file(part_of(path), std::ios::binary | std::ios::trunc);
  for (const auto& part : parts) {
    file.write(reinterpret_cast<const char*>(part.data()), static_cast<std::streamsize>(part.size()));
  }
  file.close();
  std::error_code error;
  std::optional<std::string> why;
  if (!file) why = reason(errno);
  if (!why) std::filesystem::rename(part_of(path), path, error);
  if (error) why = error.message();
  if (why) std::filesystem::remove(part_of(path), error);
  return why;
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
  const std::filesystem::path folder = path.parent_path();
  if (const auto why = make_folder(folder)) fail(folder, option, "cannot be written: " + *why);
  if (const auto why = write_parts(path, parts)) fail(path, option, "cannot be written: " + *why);
}

void check_folder(const std::filesystem::path& folder, const std::string& option) {
  std::error_code error;
  std::vector<std::filesystem::path> missing;  // the innermost first
  for (auto place = folder; !place.empty() && !std::filesystem::exists(place, error);) {
    missing.push_back(place);
    place = place.parent_path();
  }
  std::optional<std::string> why = make_folder(folder);
  const std::filesystem::path probe = folder / ("probe." + std::to_string(getpid()));
  if (!why) why = write_parts(probe, {});
  std::filesystem::remove(probe, error);
  for (const std::filesystem::path& place : missing) std::filesystem::remove(place, error);
  if (why) fail(folder, option, "cannot be written: " + *why);
}

void remove_file(const std::filesystem::path& path, const std::string& option) {
  for (const std::filesystem::path& file : {path, part_of(path)}) {
    std::error_code error;
    std::filesystem::remove(file, error);
    if (error) fail(file, option, "cannot be removed: " + error.message());
  }
}

}  // namespace fmha_bwd
