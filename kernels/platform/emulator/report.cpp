#include "kernels/platform/emulator/report.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>
#include <vector>

namespace hip_emulator {
namespace {

std::string lane_list(const std::vector<int>& lanes) {
  std::string text;
  for (std::size_t i = 0; i < lanes.size();) {
    std::size_t last = i;
    while (last + 1 < lanes.size() && lanes[last + 1] == lanes[last] + 1) ++last;
    if (!text.empty()) text += ",";
    text += std::to_string(lanes[i]);
    if (last > i) text += "-" + std::to_string(lanes[last]);
    i = last + 1;
  }
  return (lanes.size() == 1 ? "lane " : "lanes ") + text;
}

/// What `command` prints; nothing where it fails.
std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  if (!pipe) return text;
  std::array<char, 512> part;
  while (std::fgets(part.data(), part.size(), pipe.get()) != nullptr) text += part.data();
  return text;
}

/// Of an instruction: the program or library that it belongs to, and where it stands there.
struct Place {
  std::string file;
  std::string offset;
};

Place place_of(const void* code) {
  Dl_info info = {};
  void* extra = nullptr;
  if (dladdr1(code, &info, &extra, RTLD_DL_LINKMAP) == 0) return {"unknown", "0"};
  const auto* map = static_cast<const link_map*>(extra);
  std::error_code ignored;
  std::array<char, 32> offset;
  std::snprintf(offset.data(), offset.size(), "0x%lx", reinterpret_cast<std::uintptr_t>(code) - map->l_addr);
  return {map->l_name[0] != '\0' ? std::string(map->l_name)
                                 : std::filesystem::read_symlink("/proc/self/exe", ignored).string(),
          offset.data()};
}

/// A function and where in it: "reverse", "kernels/x.hip:12".
struct Frame {
  std::string function;
  std::string line;
};

/// Of an instruction, the innermost first, the others those that it is inlined into; none where addr2line
/// does not know or is not installed.
using Frames = std::vector<Frame>;

/// Of instructions of one file, in their order.
std::vector<Frames> addr2line(const std::string& file, std::span<const std::string> offsets) {
  std::vector<Frames> all(offsets.size());
  if (file.find('\'') != std::string::npos) return all;
  std::string command = "addr2line -Cafie '" + file + "'";
  for (const std::string& offset : offsets) command += " " + offset;
  std::istringstream lines(output_of(command + " 2>/dev/null"));
  std::size_t begun = 0;
  for (Frame frame; std::getline(lines, frame.function);) {
    if (frame.function.rfind("0x", 0) == 0) {  // the address, before its frames
      ++begun;
      continue;
    }
    if (!std::getline(lines, frame.line) || begun == 0 || begun > all.size()) break;
    frame.line = frame.line.substr(0, frame.line.find(" (discriminator"));
    if (frame.line.rfind("./", 0) == 0) frame.line.erase(0, 2);
    if (frame.function.find("??") == std::string::npos) all[begun - 1].push_back(frame);
  }
  return all;
}

Frames addr2line(const Place& place) { return addr2line(place.file, {&place.offset, 1}).front(); }

/// Whether a line is a kernel's: neither the emulator's nor the standard library's.
bool is_kernels(const Frame& frame) {
  return frame.line.find("kernels/platform/emulator/") != 0 && frame.line[0] != '/' &&
         frame.line.find("??") == std::string::npos;
}

std::string short_name(std::string name) {
  for (const std::string dropped : {"(anonymous namespace)::", "void "}) {
    for (std::size_t at = 0; (at = name.find(dropped)) != std::string::npos;) name.erase(at, dropped.size());
  }
  return name.substr(0, name.find('('));
}

// A command's length is limited.
constexpr std::size_t kMaxOffsets = 4096;

SourceLine source_line(const Frames& frames, const Place& place) {
  const auto innermost = std::find_if(frames.begin(), frames.end(), is_kernels);
  if (innermost == frames.end()) return {"", place.file + "+" + place.offset, ""};
  return {short_name(innermost->function), innermost->line, short_name(frames.back().function)};
}

}  // namespace

bool Site::operator==(const Site& other) const {
  const auto same = [](const char* a, const char* b) { return a == b || std::strcmp(a, b) == 0; };
  return line == other.line && same(operation, other.operation) && same(file, other.file);
}

std::string Site::text() const { return std::string(operation) + " at " + file + ":" + std::to_string(line); }

std::string who_waits_where(std::span<const Lane> lanes) {
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (const Lane& lane : lanes) {
    const std::string where = lane.state == LaneState::ended ? "ended" : "in " + lane.site.text();
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == where; });
    if (group == groups.end()) group = groups.insert(groups.end(), {where, {}});
    group->second.push_back(lane.number);
  }
  std::string text;
  for (const auto& [where, members] : groups) {
    const bool ended = where == "ended";
    const char* state = members.size() == 1 ? (ended ? " has " : " waits ") : (ended ? " have " : " wait ");
    text += (text.empty() ? "" : "; ") + lane_list(members) + state + where;
  }
  return text;
}

std::string source_of(const void* code) {
  // `code` is where the call returns to: the call itself is before.
  const Place place = place_of(static_cast<const char*>(code) - 1);
  std::string text;
  for (const Frame& frame : addr2line(place)) {
    if (is_kernels(frame)) text += "\n    in " + frame.function + " at " + frame.line;
  }
  return text.empty() ? "\n    at " + place.file + "+" + place.offset : text;
}

std::vector<SourceLine> source_lines(std::span<const void* const> codes) {
  std::map<std::string, std::vector<std::size_t>> of_file;
  std::vector<Place> places;
  for (const void* code : codes) {
    places.push_back(place_of(static_cast<const char*>(code) - 1));
    of_file[places.back().file].push_back(places.size() - 1);
  }
  std::vector<SourceLine> result(codes.size());
  for (const auto& [file, members] : of_file) {
    for (std::size_t begin = 0; begin < members.size(); begin += kMaxOffsets) {
      const auto some = std::span(members).subspan(begin, std::min(kMaxOffsets, members.size() - begin));
      std::vector<std::string> offsets;
      for (const std::size_t i : some) offsets.push_back(places[i].offset);
      const std::vector<Frames> all = addr2line(file, offsets);
      for (std::size_t i = 0; i < some.size(); ++i) result[some[i]] = source_line(all[i], places[some[i]]);
    }
  }
  return result;
}

std::string function_name(const void* code, const std::string& otherwise) {
  const Frames frames = addr2line(place_of(code));
  return frames.empty() ? otherwise : short_name(frames.front().function);
}

std::string report(const std::string& kernel, const std::string& architecture, const Failure& failure) {
  const uint3 w = failure.workgroup;
  std::string text = "kernel " + kernel + " on " + architecture + ", workgroup (" + std::to_string(w.x) +
                     "," + std::to_string(w.y) + "," + std::to_string(w.z) + "), " + failure.what;
  if (failure.code != nullptr) text += source_of(failure.code);
  return text;
}

}  // namespace hip_emulator
