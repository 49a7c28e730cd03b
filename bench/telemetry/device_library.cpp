#include "bench/telemetry/device_library.h"

#include <dlfcn.h>

namespace fmha_bwd {

void DeviceLibrary::Close::operator()(void* handle) const { dlclose(handle); }

DeviceLibrary::DeviceLibrary(std::span<const std::string> names) {
  for (const std::string& name : names) {
    handle_.reset(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (loaded()) {
      error_.clear();
      return;
    }
    const char* error = dlerror();
    if (error_.empty()) error_ = error != nullptr ? error : name + " cannot be loaded";
  }
}

void* DeviceLibrary::symbol(const char* name) const {
  return loaded() ? dlsym(handle_.get(), name) : nullptr;
}

}  // namespace fmha_bwd
