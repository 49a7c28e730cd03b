#include "kernels/platform/emulator/shared_access_counts.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "kernels/platform/emulator/report.h"

namespace hip_emulator {
namespace {

using fmha_bwd::SharedAccessSite;

struct Kernel {
  const void* function;
  std::string name;

  auto operator<=>(const Kernel&) const = default;
};

using Key = std::tuple<Kernel, const void*, Access, std::size_t>;  // code, kind, bytes
using Table = std::map<Key, BankCounts>;

std::atomic<bool> counting{false};
std::mutex mutex;

Table& table() {
  static Table counts;
  return counts;
}

const char* kind_of(Access access) {
  return access == Access::read ? "read" : (access == Access::write ? "write" : "atomic");
}

/// "kernels/x.hip:12" as file and number, in whose order lines are.
std::pair<std::string_view, int> place_in(const std::string& line) {
  const std::string_view text(line);
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {text, 0};
  int number = 0;
  std::from_chars(text.data() + colon + 1, text.data() + text.size(), number);
  return {text.substr(0, colon), number};
}

auto order_of(const SharedAccessSite& site) {
  const auto [file, number] = place_in(site.line);
  return std::tuple(std::string_view(site.kernel), file, number, std::string_view(site.function),
                    std::string_view(site.kind), site.bytes);
}

bool same_site(const SharedAccessSite& a, const SharedAccessSite& b) {
  return order_of(a) == order_of(b) && a.line == b.line;
}

}  // namespace

void count_shared_accesses(bool on) { counting = on; }
bool counts_shared_accesses() { return counting; }

void add_shared_accesses(const void* function, const char* name, const std::vector<CountedSite>& counted) {
  const std::lock_guard lock(mutex);
  for (const auto& [site, counts] : counted) {
    table()[{Kernel{function, name}, site.code, site.access, site.bytes}] += counts;
  }
}

std::vector<SharedAccessSite> take_shared_accesses() {
  Table taken;
  {
    const std::lock_guard lock(mutex);
    taken.swap(table());
  }
  std::vector<const void*> codes;
  for (const auto& [key, counts] : taken) {
    codes.push_back(std::get<1>(key));
    codes.push_back(static_cast<const char*>(std::get<Kernel>(key).function) + 1);
  }
  const std::vector<SourceLine> lines = source_lines(codes);
  std::vector<SharedAccessSite> sites;
  std::size_t at = 0;
  for (const auto& [key, counts] : taken) {
    const auto& [kernel, code, access, bytes] = key;
    const SourceLine& line = lines[at++];
    const std::string& kernel_name = lines[at++].outermost;
    sites.push_back({kernel_name.empty() ? kernel.name : kernel_name, line.function, line.line,
                     kind_of(access), static_cast<std::int64_t>(bytes),
                     static_cast<std::int64_t>(counts.accesses), static_cast<std::int64_t>(counts.phases),
                     static_cast<std::int64_t>(counts.conflicts)});
  }
  std::sort(sites.begin(), sites.end(),
            [](const SharedAccessSite& a, const SharedAccessSite& b) { return order_of(a) < order_of(b); });
  std::vector<SharedAccessSite> merged;
  for (SharedAccessSite& site : sites) {
    if (merged.empty() || !same_site(merged.back(), site)) {
      merged.push_back(std::move(site));
      continue;
    }
    merged.back().accesses += site.accesses;
    merged.back().phases += site.phases;
    merged.back().conflicts += site.conflicts;
  }
  return merged;
}

}  // namespace hip_emulator
