#include "src/arch/resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "kernels/resources.h"
#include "src/options/values.h"

namespace fmha_bwd {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kNumbers = {
    ResourceNumber{"vector", &KernelResources::vector},
    ResourceNumber{"agpr", &KernelResources::agpr},
    ResourceNumber{"scalar", &KernelResources::scalar},
    ResourceNumber{"spilled", &KernelResources::spilled},
    ResourceNumber{"scalar_spilled", &KernelResources::scalar_spilled},
    ResourceNumber{"scratch", &KernelResources::scratch},
    ResourceNumber{"shared", &KernelResources::shared},
    ResourceNumber{"waves", &KernelResources::waves},
    ResourceNumber{"matrix", &KernelResources::matrix},
    ResourceNumber{"loop", &KernelResources::loop},
};

template <class T>
Json json_of(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <class T>
std::optional<T> value_of(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional<T>(json.get<T>());
}

KernelResources kernel_from(const Json& json, std::string platform) {
  KernelResources kernel;
  kernel.platform = std::move(platform);
  kernel.arch = json.at("arch");
  kernel.family = json.at("family");
  kernel.kernel = json.at("kernel");
  for (const ResourceNumber& number : kNumbers) {
    kernel.*number.value = value_of<std::int64_t>(json.at(std::string(number.name)));
  }
  return kernel;
}

ResourceTable table_from(const Json& json) {
  ResourceTable table;
  for (const Json& platform : json.at("platforms")) {
    table.platforms.push_back({platform.at("platform"), platform.at("architectures"),
                               value_of<std::string>(platform.at("missing"))});
  }
  for (const Json& kernel : json.at("kernels")) {
    table.kernels.push_back(kernel_from(kernel, kernel.at("platform")));
  }
  return table;
}

}  // namespace

std::span<const ResourceNumber> resource_numbers() { return kNumbers; }

ResourceTable built_resources(const std::vector<Platform>& platforms) {
  ResourceTable table;
  for (const Platform& platform : platforms) {
    table.platforms.push_back({platform.name, platform.architectures, std::nullopt});
    if (platform.name == "emulator") {
      table.platforms.back().missing = "no code objects, since it runs the kernels' sources on the CPU";
    }
  }
  for (const std::string_view text : kernel_resources()) {
    const Json json = Json::parse(text);
    const std::string name = json.at("platform");
    for (CodePlatform& platform : table.platforms) {
      if (platform.name == name && !platform.missing) {
        platform.missing = value_of<std::string>(json.at("missing"));
      }
    }
    for (const Json& kernel : json.at("kernels")) table.kernels.push_back(kernel_from(kernel, name));
  }
  std::sort(table.kernels.begin(), table.kernels.end(), [](const auto& a, const auto& b) {
    return std::tie(a.platform, a.arch, a.family, a.kernel) <
           std::tie(b.platform, b.arch, b.family, b.kernel);
  });
  return table;
}

Json json_of(const ResourceTable& table) {
  Json json = {{"platforms", Json::array()}, {"kernels", Json::array()}};
  for (const CodePlatform& platform : table.platforms) {
    json["platforms"].push_back({{"platform", platform.name},
                                 {"architectures", platform.architectures},
                                 {"missing", json_of(platform.missing)}});
  }
  for (const KernelResources& kernel : table.kernels) {
    Json item = {{"platform", kernel.platform},
                 {"arch", kernel.arch},
                 {"family", kernel.family},
                 {"kernel", kernel.kernel}};
    for (const ResourceNumber& number : kNumbers) {
      item[std::string(number.name)] = json_of(kernel.*number.value);
    }
    json["kernels"].push_back(std::move(item));
  }
  return json;
}

ResourceTable read_resources(const std::filesystem::path& path, std::string_view option) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path))
    refuse(option, fmt::format("cannot read '{}'", path.string()));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    return table_from(Json::parse(text));
  } catch (const Json::exception& error) {
    refuse(option,
           fmt::format("'{}' is not what arch --format json writes: {}", path.string(), error.what()));
  }
}

bool is_arch(std::string_view code, std::string_view asked) {
  return code == asked || code == std::string(asked) + "a";
}

ResourceTable filtered(const ResourceTable& table, const ResourceFilter& filter) {
  const auto arch_matches = [&](const std::string& arch) {
    return !filter.arch || is_arch(arch, *filter.arch);
  };
  ResourceTable result;
  for (CodePlatform platform : table.platforms) {
    if (filter.platform && platform.name != *filter.platform) continue;
    std::erase_if(platform.architectures, [&](const std::string& arch) { return !arch_matches(arch); });
    if (!platform.architectures.empty()) result.platforms.push_back(std::move(platform));
  }
  std::copy_if(table.kernels.begin(), table.kernels.end(), std::back_inserter(result.kernels),
               [&](const KernelResources& kernel) {
                 return (!filter.platform || kernel.platform == *filter.platform) &&
                        arch_matches(kernel.arch) && (!filter.family || kernel.family == *filter.family) &&
                        (!filter.kernel || kernel.kernel.find(*filter.kernel) != std::string::npos);
               });
  return result;
}

}  // namespace fmha_bwd
