// What each kernel in this program needs of its device: registers, memory and the instructions of its loop.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/backend.h"

namespace fmha_bwd {

/// One kernel on one architecture. A number that the platform does not have is nothing.
struct KernelResources {
  using Number = std::optional<std::int64_t>;

  std::string platform;
  std::string arch;    // the code's: "sm_90a"
  std::string family;  // "-" outside all families
  std::string kernel;  // its name and template arguments
  Number vector;   // registers a thread; of gfx90a, gfx942 and gfx950 the accumulation registers among them
  Number agpr;     // accumulation registers a thread; AMD
  Number scalar;   // registers a wave; AMD
  Number spilled;  // AMD: vector registers; NVIDIA: instructions that load or store local memory
  Number scalar_spilled;  // registers, which go to vector registers; AMD
  Number scratch;         // bytes a thread: stack, and what was spilled
  Number shared;          // static bytes a workgroup; what a launch adds stands in no code object
  Number waves;           // most waves or warps at a time on a SIMD or scheduler, as registers limit them
  Number matrix;          // matrix instructions in the loop that has most of them
  Number loop;            // all instructions of that loop; 0 where there is none

  bool operator==(const KernelResources&) const = default;
};

/// The numbers by name, in the order of the struct.
struct ResourceNumber {
  std::string_view name;
  KernelResources::Number KernelResources::*value;
};
std::span<const ResourceNumber> resource_numbers();

/// What a platform has code for, and why nothing is known of it where that is so.
struct CodePlatform {
  std::string name;
  std::vector<std::string> architectures;
  std::optional<std::string> missing;

  bool operator==(const CodePlatform&) const = default;
};

struct ResourceTable {
  std::vector<CodePlatform> platforms;
  std::vector<KernelResources> kernels;  // by platform, architecture, family and name
};

/// Of this program; `platforms` are those that it was built with.
ResourceTable built_resources(const std::vector<Platform>& platforms);

/// {"platforms": [...], "kernels": [...]}, each object with the members of the struct; null for nothing.
nlohmann::ordered_json json_of(const ResourceTable& table);

/// The inverse of json_of, with whatever else stands in the file. Throws Error (bad_usage), which begins with
/// `option`, where the file cannot be read or is no such table.
ResourceTable read_resources(const std::filesystem::path& path, std::string_view option);

/// Whether code for `code` is meant by `asked`: sm_90 means sm_90a too.
bool is_arch(std::string_view code, std::string_view asked);

/// Which kernels are meant: all, where nothing is said.
struct ResourceFilter {
  std::optional<std::string> platform;
  std::optional<std::string> arch;
  std::optional<std::string> family;
  std::optional<std::string> kernel;  // a part of its name
};

/// Those alone; of the platforms those that the filter names, with the architectures that it names.
ResourceTable filtered(const ResourceTable& table, const ResourceFilter& filter);

}  // namespace fmha_bwd
