#include "src/random/shrink.h"

#include <algorithm>
#include <vector>

namespace fmha_bwd {
namespace {

using Cases = std::vector<RandomCase>;

/// Smaller values to try: the least, half, one less.
std::vector<std::int64_t> smaller(std::int64_t value, std::int64_t least) {
  std::vector<std::int64_t> values;
  for (const std::int64_t candidate : {least, value / 2, value - 1}) {
    const bool known = std::find(values.begin(), values.end(), candidate) != values.end();
    if (candidate >= least && candidate < value && !known) values.push_back(candidate);
  }
  return values;
}

/// One more candidate: `failing` after `change`.
template <class Change>
void add(Cases& cases, const RandomCase& failing, const Change& change) {
  RandomCase candidate = failing;
  change(candidate);
  cases.push_back(std::move(candidate));
}

void add_without_features(Cases& cases, const RandomCase& failing) {
  const Problem& p = failing.problem;
  if (failing.mask != kNoMask) add(cases, failing, [](RandomCase& c) { c.mask = kNoMask; });
  if (failing.mask != kNoMask && failing.mask != kTopLeft) {
    add(cases, failing, [](RandomCase& c) { c.mask = kTopLeft; });
  }
  if (p.dropout.probability > 0.0F) add(cases, failing, [](RandomCase& c) { c.problem.dropout = {}; });
  if (p.softcap > 0.0F) add(cases, failing, [](RandomCase& c) { c.problem.softcap = 0.0F; });
  if (p.bias != BiasShape::none) add(cases, failing, [](RandomCase& c) { c.problem.bias = BiasShape::none; });
  if (p.alibi) add(cases, failing, [](RandomCase& c) { c.problem.alibi = false; });
  if (p.sink) add(cases, failing, [](RandomCase& c) { c.problem.sink = false; });
  if (p.deterministic) add(cases, failing, [](RandomCase& c) { c.problem.deterministic = false; });
  if (!p.padded_q.empty() || !p.padded_k.empty()) {
    add(cases, failing, [](RandomCase& c) { c.problem.padded_q = c.problem.padded_k = {}; });
  }
  if (p.layout != Layout::bhsd) add(cases, failing, [](RandomCase& c) { c.problem.layout = Layout::bhsd; });
  if (p.scale != default_scale(p.hdim_q)) {
    add(cases, failing, [](RandomCase& c) { c.problem.scale = default_scale(c.problem.hdim_q); });
  }
  if (failing.fill.d_o_is_one) add(cases, failing, [](RandomCase& c) { c.fill.d_o_is_one = false; });
  if (failing.fill.kind != FillKind::normal) {
    add(cases, failing, [](RandomCase& c) {
      c.fill.kind = FillKind::normal;
      c.fill.standard_deviation = 1.0F;
    });
  }
}

/// Group mode with one sequence less, or batch mode with the lengths of one of the sequences.
void add_with_fewer_sequences(Cases& cases, const RandomCase& failing) {
  const Problem& p = failing.problem;
  if (!p.grouped()) {
    for (const std::int64_t batch : smaller(p.batch, 1)) {
      add(cases, failing, [&](RandomCase& c) { c.problem.batch = batch; });
    }
    return;
  }
  for (std::size_t left = 0; left < p.seqlens_q.size(); ++left) {
    if (p.seqlens_q[left] > 0 && p.seqlens_k[left] > 0) {
      add(cases, failing, [&](RandomCase& c) {
        c.problem.batch = 1;
        c.problem.seqlen_q = p.seqlens_q[left];
        c.problem.seqlen_k = p.seqlens_k[left];
        c.problem.seqlens_q = c.problem.seqlens_k = c.problem.padded_q = c.problem.padded_k = {};
      });
    }
    if (p.seqlens_q.size() == 1) continue;
    add(cases, failing, [&](RandomCase& c) {
      const auto without = [left](std::vector<std::int64_t> list) {
        if (!list.empty()) list.erase(list.begin() + static_cast<std::ptrdiff_t>(left));
        return list;
      };
      make_grouped(c.problem, without(p.seqlens_q), without(p.seqlens_k));
      c.problem.padded_q = without(p.padded_q);
      c.problem.padded_k = without(p.padded_k);
    });
  }
}

void add_with_smaller_shapes(Cases& cases, const RandomCase& failing) {
  const Problem& p = failing.problem;
  const bool default_scaled = p.scale == default_scale(p.hdim_q);
  for (const std::int64_t heads : smaller(p.nhead_k, 1)) {
    add(cases, failing, [&](RandomCase& c) {
      c.problem.nhead_q = c.problem.group_size() * heads;
      c.problem.nhead_k = heads;
    });
  }
  for (const std::int64_t group : smaller(p.group_size(), 1)) {
    add(cases, failing, [&](RandomCase& c) { c.problem.nhead_q = group * c.problem.nhead_k; });
  }
  if (!p.grouped()) {
    const bool packed = p.layout == Layout::qkv;
    for (const std::int64_t seqlen : smaller(p.seqlen_q, 1)) {
      add(cases, failing, [&](RandomCase& c) {
        c.problem.seqlen_q = seqlen;
        if (packed) c.problem.seqlen_k = seqlen;
      });
    }
    for (const std::int64_t seqlen : smaller(packed ? 1 : p.seqlen_k, 1)) {
      add(cases, failing, [&](RandomCase& c) { c.problem.seqlen_k = seqlen; });
    }
  }
  const auto with_head_dims = [&](std::int64_t hdim_q, std::int64_t hdim_v) {
    add(cases, failing, [&](RandomCase& c) {
      c.problem.hdim_q = hdim_q;
      c.problem.hdim_v = hdim_v;
      if (default_scaled) c.problem.scale = default_scale(hdim_q);
    });
  };
  if (p.hdim_q == p.hdim_v) {
    for (const std::int64_t hdim : smaller(p.hdim_q, 1)) with_head_dims(hdim, hdim);
    return;
  }
  for (const std::int64_t hdim : smaller(p.hdim_q, 1)) with_head_dims(hdim, p.hdim_v);
  for (const std::int64_t hdim : smaller(p.hdim_v, 1)) with_head_dims(p.hdim_q, hdim);
}

/// Documents past the end of the longest sequence are cut off; where all are empty there is none.
void fit_mask(RandomCase& candidate) {
  const std::int64_t longest = std::max(candidate.problem.seqlen_q, candidate.problem.seqlen_k);
  std::vector<std::int64_t>& ends = candidate.mask.document_ends;
  const bool has_documents = !ends.empty();
  std::erase_if(ends, [longest](std::int64_t end) { return end > longest; });
  if (!has_documents || !ends.empty()) return;
  if (longest > 0) {
    ends = {longest};
  } else {
    candidate.mask = kNoMask;
  }
}

}  // namespace

RandomCase shrunk(const RandomCase& failing, const std::function<bool(const RandomCase&)>& fails) {
  RandomCase smallest = failing;
  int runs = 0;
  for (bool found = true; found;) {
    found = false;
    Cases candidates;
    add_without_features(candidates, smallest);
    add_with_fewer_sequences(candidates, smallest);
    add_with_smaller_shapes(candidates, smallest);
    for (RandomCase& candidate : candidates) {
      fit_mask(candidate);
      if (complaint_about(candidate.problem)) continue;
      if (++runs > kMaxShrinkRuns) return smallest;
      if (!fails(candidate)) continue;
      smallest = std::move(candidate);
      found = true;
      break;
    }
  }
  return smallest;
}

}  // namespace fmha_bwd
