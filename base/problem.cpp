#include "base/problem.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/sequences.h"

namespace fmha_bwd {
namespace {

constexpr std::array<std::string_view, 5> kBiasShapes = {"none", "shared", "head", "batch", "full"};

struct Bounded {
  const char* option;
  std::int64_t value;
  std::int64_t least;
  std::int64_t most;
};

std::string text(std::int64_t value) { return std::to_string(value); }
double real(std::int64_t value) { return static_cast<double>(value); }

/// Of one side's lengths and padded lengths.
std::optional<std::string> complaint_about_side(const Problem& problem, const char* option,
                                                const std::vector<std::int64_t>& seqlens,
                                                std::int64_t longest, const char* pad_option,
                                                const std::vector<std::int64_t>& padded) {
  for (const std::int64_t seqlen : seqlens) {
    if (seqlen < 0 || seqlen > kMaxExtent) {
      return std::string(option) + ": " + text(seqlen) + " is not in 0.." + text(kMaxExtent);
    }
  }
  const std::size_t expected = problem.grouped() ? seqlens.size() : 1;
  if (!padded.empty() && padded.size() != expected) {
    return std::string(pad_option) + ": " + std::to_string(padded.size()) + " lengths for " +
           std::to_string(expected) + "; allowed is one for each of " + option;
  }
  for (std::size_t i = 0; i < padded.size(); ++i) {
    const std::int64_t least = problem.grouped() ? seqlens[i] : longest;
    if (padded[i] < least || padded[i] > kMaxExtent) {
      return std::string(pad_option) + ": " + text(padded[i]) + " is not in " + text(least) + ".." +
             text(kMaxExtent) + ", from the sequence's length on";
    }
  }
  const std::vector<std::int64_t>& rows = padded.empty() ? seqlens : padded;
  const std::int64_t sum = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  if (problem.grouped() && sum > kMaxExtent) {
    return std::string(padded.empty() ? option : pad_option) + ": the sequences have " + text(sum) +
           " rows together; allowed are " + text(kMaxExtent);
  }
  return std::nullopt;
}

/// Of a problem in layout qkv.
std::optional<std::string> complaint_about_qkv(const Problem& p) {
  const std::string allowed = "--layout: qkv holds Q, K and V in one tensor; allowed where ";
  if (p.hdim_q != p.hdim_v) return allowed + "--hdim-v " + text(p.hdim_v) + " is --hdim " + text(p.hdim_q);
  const std::vector<Sequence> sequences = sequences_of(p);
  for (std::size_t b = 0; b < sequences.size(); ++b) {
    const Sequence& s = sequences[b];
    if (s.seqlen_q == s.seqlen_k && s.place_q == s.place_k) continue;
    return allowed + "queries and keys have equal lengths, not " + text(s.seqlen_q) + " and " +
           text(s.seqlen_k) + " as in sequence " + std::to_string(b) + ", and equal padding";
  }
  if (device_rows_q(p) == device_rows_k(p)) return std::nullopt;
  return allowed + "queries and keys have as many rows with padding, not " + text(device_rows_q(p)) +
         " and " + text(device_rows_k(p));
}

std::optional<std::string> complaint_about_lengths(const Problem& p) {
  if (p.seqlens_q.size() != p.seqlens_k.size() ||
      (p.grouped() && p.seqlens_q.size() != static_cast<std::size_t>(p.batch))) {
    return "--seqlen-k: " + std::to_string(p.seqlens_k.size()) + " lengths for the " +
           std::to_string(p.seqlens_q.size()) + " of --seqlen-q; allowed is as many";
  }
  if (auto complaint =
          complaint_about_side(p, "--seqlen-q", p.seqlens_q, p.seqlen_q, "--seqlen-q-pad", p.padded_q)) {
    return complaint;
  }
  if (auto complaint =
          complaint_about_side(p, "--seqlen-k", p.seqlens_k, p.seqlen_k, "--seqlen-k-pad", p.padded_k)) {
    return complaint;
  }
  return p.layout == Layout::qkv ? complaint_about_qkv(p) : std::nullopt;
}

std::optional<std::string> complaint_about_scores(const Problem& p) {
  if (!std::isfinite(p.scale)) {
    return "--scale: " + std::to_string(p.scale) + " is not finite; allowed is any finite number";
  }
  if (!(p.softcap >= 0.0F) || !std::isfinite(p.softcap)) {
    return "--softcap: " + std::to_string(p.softcap) + " is not allowed; 0 (none) or any positive number";
  }
  if (p.softcap > 0.0F && !std::isfinite(1.0F / p.softcap)) {
    return "--softcap: its reciprocal is not finite in fp32; allowed is 0 (none) or from 3e-39 on";
  }
  if (!(p.dropout.probability >= 0.0F && p.dropout.probability < 1.0F)) {
    return "--dropout: " + std::to_string(p.dropout.probability) + " is not in [0, 1) in fp32";
  }
  if (p.dropout.offset > kMaxDropoutOffset) {
    return "--dropout-offset: " + std::to_string(p.dropout.offset) + " is not in 0.." +
           std::to_string(kMaxDropoutOffset);
  }
  return std::nullopt;
}

/// Byte counts must fit in 64 bits: bounds the largest tensors (fp32 elements) in floating point.
std::optional<std::string> complaint_about_memory(const Problem& p) {
  const double rows = real(std::max(device_rows_q(p), device_rows_k(p)));
  const double head_rows = (p.grouped() ? 1.0 : real(p.batch)) * real(p.nhead_q + 2 * p.nhead_k) * rows;
  if (head_rows * real(kMaxHeadDim) * 4.0 > 0x1p62) {
    return "--batch: " + text(p.batch) + " x --nhead " + text(p.nhead_q) +
           " x the sequence length is more than 64-bit addresses hold; allowed is less than 2^51 rows";
  }
  const bool biased = p.bias != BiasShape::none;
  if (biased && real(p.batch) * real(p.nhead_q) * real(p.seqlen_q) * real(p.seqlen_k) > 0x1p59) {
    return "--bias: " + std::string(name_of(p.bias)) + " has more elements than 64-bit addresses hold";
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Layout layout) {
  switch (layout) {
    case Layout::bhsd:
      return "bhsd";
    case Layout::bshd:
      return "bshd";
    case Layout::qkv:
      return "qkv";
  }
  return "";
}

std::optional<Layout> layout_named(std::string_view name) {
  for (const Layout layout : {Layout::bhsd, Layout::bshd, Layout::qkv}) {
    if (name_of(layout) == name) return layout;
  }
  return std::nullopt;
}

std::string_view name_of(BiasShape shape) { return kBiasShapes.at(static_cast<std::size_t>(shape)); }

std::optional<BiasShape> bias_shape_named(std::string_view name) {
  const auto found = std::find(kBiasShapes.begin(), kBiasShapes.end(), name);
  if (found == kBiasShapes.end()) return std::nullopt;
  return static_cast<BiasShape>(found - kBiasShapes.begin());
}

void make_grouped(Problem& problem, std::vector<std::int64_t> seqlens_q,
                  std::vector<std::int64_t> seqlens_k) {
  problem.batch = static_cast<std::int64_t>(seqlens_q.size());
  problem.seqlen_q = *std::max_element(seqlens_q.begin(), seqlens_q.end());
  problem.seqlen_k = *std::max_element(seqlens_k.begin(), seqlens_k.end());
  problem.seqlens_q = std::move(seqlens_q);
  problem.seqlens_k = std::move(seqlens_k);
}

float default_scale(std::int64_t hdim_q) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(hdim_q)));
}

std::optional<std::string> complaint_about(const Problem& problem) {
  const std::int64_t shortest = problem.grouped() ? 0 : 1;
  const std::array<Bounded, 7> bounds = {{
      {"--batch", problem.batch, 1, kMaxExtent},
      {"--nhead", problem.nhead_q, 1, kMaxExtent},
      {"--nhead-k", problem.nhead_k, 1, kMaxExtent},
      {"--seqlen-q", problem.seqlen_q, shortest, kMaxExtent},
      {"--seqlen-k", problem.seqlen_k, shortest, kMaxExtent},
      {"--hdim", problem.hdim_q, 1, kMaxHeadDim},
      {"--hdim-v", problem.hdim_v, 1, kMaxHeadDim},
  }};
  for (const Bounded& bound : bounds) {
    if (bound.value < bound.least || bound.value > bound.most) {
      return std::string(bound.option) + ": " + text(bound.value) + " is not in " + text(bound.least) + ".." +
             text(bound.most);
    }
  }
  if (problem.nhead_q % problem.nhead_k != 0) {
    return "--nhead-k: " + text(problem.nhead_k) + " does not divide --nhead " + text(problem.nhead_q) +
           "; allowed is a divisor of it";
  }
  if (const auto complaint = complaint_about_lengths(problem)) return complaint;
  if (const auto complaint = complaint_about_scores(problem)) return complaint;
  return complaint_about_memory(problem);
}

}  // namespace fmha_bwd
