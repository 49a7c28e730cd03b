// A shared library that is loaded at run time, so that the program starts where it is absent.
#pragma once

#include <memory>
#include <span>
#include <string>

namespace fmha_bwd {

class DeviceLibrary {
 public:
  /// Loads the first of `names` (file names, or paths) that can be. Never throws for a library that is
  /// absent: error() says so.
  explicit DeviceLibrary(std::span<const std::string> names);

  bool loaded() const { return handle_ != nullptr; }
  /// Why the first of the names was not loaded; empty where one was.
  const std::string& error() const { return error_; }

  /// The function of that name; nullptr where the library has none, or is not loaded. `Function` is its
  /// type: nothing checks that. It is gone when this object is.
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

 private:
  struct Close {
    void operator()(void* handle) const;
  };

  void* symbol(const char* name) const;

  std::unique_ptr<void, Close> handle_;
  std::string error_;
};

}  // namespace fmha_bwd
