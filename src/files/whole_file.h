// Reading and writing files as a whole, with one-line errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>

namespace fmha_bwd {

/// "--load: 'DIR/q.npy'", the beginning of a message.
std::string place_text(const std::string& option, const std::filesystem::path& path);

/// Bytes of the file. Throws Error (bad_usage) where there is none, or where it is not a regular file.
std::uint64_t size_of_file(const std::filesystem::path& path, const std::string& option);

/// Fills `bytes` from the file, from byte `offset` on. Throws Error (bad_usage) where it has not so many.
void read_file(const std::filesystem::path& path, std::uint64_t offset, std::span<std::byte> bytes,
               const std::string& option);

/// Throws what write_file into that folder would throw; leaves nothing behind.
void check_folder(const std::filesystem::path& folder, const std::string& option);

/// Removes the file, and what a run that was killed left of it, where they are there. Throws Error
/// (device_error) where that fails.
void remove_file(const std::filesystem::path& path, const std::string& option);

/// Writes the parts one after the other beside the file and renames the result, so that the file is never
/// there in part; makes the folder where there is none. Throws Error (device_error) where that fails.
void write_file(const std::filesystem::path& path, std::initializer_list<std::span<const std::byte>> parts,
                const std::string& option);

}  // namespace fmha_bwd
