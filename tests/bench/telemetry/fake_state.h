// The state of a shared library that stands in for a vendor's: what it answers with.
#pragma once

#include <dlfcn.h>

namespace fmha_bwd {

/// The state that the function `name` of the library at `path` gives: as new, and the library stays loaded,
/// for as long as this lives.
template <class State>
class FakeState {
 public:
  FakeState(const char* path, const char* name) : library_(dlopen(path, RTLD_NOW)) {
    state_ = reinterpret_cast<State* (*)()>(dlsym(library_, name))();
    *state_ = {};
  }
  FakeState(const FakeState&) = delete;
  FakeState& operator=(const FakeState&) = delete;
  ~FakeState() { dlclose(library_); }

  State* operator->() { return state_; }

 private:
  void* library_;
  State* state_;
};

}  // namespace fmha_bwd
