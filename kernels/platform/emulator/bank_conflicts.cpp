#include "kernels/platform/emulator/bank_conflicts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <utility>

namespace hip_emulator {
namespace {

constexpr std::size_t kWord = 4;
constexpr std::size_t kWidest = 16;

/// The words that the lanes of one phase ask of each bank, each once.
class AskedWords {
 public:
  explicit AskedWords(std::size_t banks) : banks_(banks) {}

  void add(std::size_t word) {
    const std::size_t bank = word % banks_;
    std::uint8_t& count = counts_[bank];
    const auto asked = static_cast<std::uint32_t>(word);
    for (std::size_t i = 0; i < count; ++i) {
      if (words_[bank][i] == asked) return;
    }
    words_[bank][count++] = asked;
    longest_ = std::max<std::size_t>(longest_, count);
  }
  std::size_t cycles() const { return longest_; }

 private:
  // A lane asks for consecutive words, fewer than there are banks: one of each bank.
  static constexpr std::size_t kMaxLanes = 32;

  std::size_t banks_;
  std::size_t longest_ = 0;
  std::array<std::uint8_t, kMaxBanks> counts_{};
  std::array<std::array<std::uint32_t, kMaxLanes>, kMaxBanks> words_;
};

/// Of one access of up to 16 bytes, `from` bytes after the lanes' offsets.
BankCounts counts_of_piece(const Phases& phases, std::size_t from, std::size_t bytes,
                           std::span<const LaneAccess> lanes) {
  BankCounts counts = {1, 0, 0};
  std::array<bool, 64 / 4> seen{};  // phases
  for (const LaneAccess& first : lanes) {
    const std::size_t phase = phases.phase_of(first.lane);
    if (std::exchange(seen[phase], true)) continue;
    AskedWords asked(phases.banks);
    for (const LaneAccess& lane : lanes) {
      if (phases.phase_of(lane.lane) != phase) continue;
      const std::size_t begin = lane.offset + from;
      for (std::size_t word = begin / kWord; word <= (begin + bytes - 1) / kWord; ++word) asked.add(word);
    }
    ++counts.phases;
    counts.conflicts += asked.cycles() - 1;
  }
  return counts;
}

}  // namespace

BankCounts& BankCounts::operator+=(const BankCounts& other) {
  accesses += other.accesses;
  phases += other.phases;
  conflicts += other.conflicts;
  return *this;
}

BankCounts bank_counts(const Banks& banks, Access access, std::size_t bytes,
                       std::span<const LaneAccess> lanes) {
  const std::size_t width = std::has_single_bit(bytes) ? std::min(bytes, kWidest) : kWidest;
  const Phases& phases = banks.phases(access, width);
  BankCounts counts;
  for (std::size_t from = 0; from < bytes; from += width) {
    counts += counts_of_piece(phases, from, std::min(width, bytes - from), lanes);
  }
  return counts;
}

std::size_t SharedAccesses::Hash::operator()(const AccessSite& site) const {
  const std::size_t rest = site.bytes * 4 + static_cast<std::size_t>(site.access);
  return std::hash<const void*>()(site.code) * 31 + rest;
}

void SharedAccesses::start(const Banks& banks, std::size_t lanes, std::size_t wave_size) {
  banks_ = &banks;
  if (lanes == lanes_ && wave_size == wave_size_) return;
  lanes_ = lanes;
  wave_size_ = wave_size;
  waves_.resize((lanes + wave_size - 1) / wave_size);
  for (Log& log : logs_) {
    log.offsets.resize(lanes_);
    log.in_wave.resize(waves_.size());
  }
}

SharedAccesses::Log& SharedAccesses::log_of(const AccessSite& site) {
  const auto [entry, is_new] = index_.try_emplace(site, logs_.size());
  if (is_new) logs_.push_back({{site, {}}, {}, {}});
  Log& log = logs_[entry->second];
  if (is_new) {
    log.offsets.resize(lanes_);
    log.in_wave.resize(waves_.size());
  }
  return log;
}

void SharedAccesses::note(const Lane& lane, const AccessSite& site, std::size_t offset) {
  const auto number = static_cast<std::size_t>(lane.number);
  const std::size_t in = number / wave_size_;
  Wave& wave = waves_[in];
  // The first after a meeting: all lanes of the wave have come there.
  if (wave.stamp.barrier_between(lane.stamp) || wave.stamp.wave_function_between(lane.stamp)) count(in);
  wave.stamp = lane.stamp;
  Log& log = log_of(site);
  log.offsets[number].push_back(static_cast<std::uint32_t>(offset));
  if (log.in_wave[in]) return;
  log.in_wave[in] = true;
  wave.logs.push_back(static_cast<std::size_t>(&log - logs_.data()));
}

void SharedAccesses::count(std::size_t wave) {
  const std::size_t begin = wave * wave_size_;
  const std::size_t end = std::min(begin + wave_size_, lanes_);
  for (const std::size_t index : waves_[wave].logs) {
    Log& log = logs_[index];
    const AccessSite& site = log.counted.site;
    for (std::size_t k = 0;; ++k) {
      together_.clear();
      for (std::size_t lane = begin; lane < end; ++lane) {
        if (k < log.offsets[lane].size()) together_.push_back({lane - begin, log.offsets[lane][k]});
      }
      if (together_.empty()) break;
      log.counted.counts += bank_counts(*banks_, site.access, site.bytes, together_);
    }
    for (std::size_t lane = begin; lane < end; ++lane) log.offsets[lane].clear();
    log.in_wave[wave] = false;
  }
  waves_[wave].logs.clear();
}

void SharedAccesses::finish() {
  for (std::size_t wave = 0; wave < waves_.size(); ++wave) count(wave);
}

void SharedAccesses::abandon() {
  for (Wave& wave : waves_) {
    for (const std::size_t index : wave.logs) {
      for (auto& offsets : logs_[index].offsets) offsets.clear();
      logs_[index].in_wave.assign(waves_.size(), false);
    }
    wave.logs.clear();
  }
}

std::vector<CountedSite> SharedAccesses::take() {
  std::vector<CountedSite> counted;
  for (const Log& log : logs_) counted.push_back(log.counted);
  logs_.clear();
  index_.clear();
  return counted;
}

}  // namespace hip_emulator
