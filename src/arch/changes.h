// What changed in the kernels from one build to the next.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/arch/resources.h"

namespace fmha_bwd {

struct NumberChange {
  std::string_view name;
  KernelResources::Number before;
  KernelResources::Number after;
  bool worse = false;  // more spilled, or fewer waves or matrix instructions
};

enum class Fate { changed, gone, appeared };

/// "changed", "gone" or "new".
std::string_view name_of(Fate fate);

struct KernelChange {
  Fate fate = Fate::changed;
  KernelResources kernel;             // as it is now, or was
  std::vector<NumberChange> numbers;  // those that differ, of a changed one

  bool worse() const;
};

struct ResourceChanges {
  std::vector<KernelChange> kernels;  // in the order of `after`, then those that are gone
  std::vector<std::string>
      not_compared;  // architectures whose kernels one side alone has: "amd gfx942: not in FILE"
  std::vector<std::string> unknown;  // those of `before` of which `after` has no numbers, and why
  std::int64_t compared = 0;         // kernels that both have

  bool worse() const;
};

/// Kernels are the same where platform, architecture, family and name are. A number that one side alone has
/// is a change, but not a worse one.
ResourceChanges changes_between(const ResourceTable& before, const ResourceTable& after);

}  // namespace fmha_bwd
