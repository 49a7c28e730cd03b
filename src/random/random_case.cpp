#include "src/random/random_case.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "base/random.h"

namespace fmha_bwd {
namespace {

constexpr std::uint64_t kCaseStream = std::uint64_t{1} << 32;  // after those of tensors and their signs

/// Random choices from one Philox stream.
class Choices {
 public:
  Choices(std::uint64_t seed, std::uint64_t number) : seed_(seed), stream_(kCaseStream + number) {}

  std::uint32_t integer() {
    const std::uint64_t position = drawn_ / 4;
    const auto word = static_cast<std::size_t>(drawn_ % 4);
    ++drawn_;
    return philox_quad(seed_, stream_, position)[word];
  }
  /// In [least, most].
  std::int64_t between(std::int64_t least, std::int64_t most) {
    const auto count = static_cast<std::uint64_t>(most - least + 1);
    return least + static_cast<std::int64_t>((std::uint64_t{integer()} * count) >> 32);
  }
  bool one_in(std::int64_t n) { return between(1, n) == 1; }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return list.begin()[between(0, static_cast<std::int64_t>(list.size()) - 1)];
  }

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t drawn_ = 0;
};

std::int64_t draw_length(Choices& choose) {
  if (choose.one_in(3))
    return choose.one_of<std::int64_t>({1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 192});
  return choose.one_in(3) ? choose.between(1, 20) : choose.between(1, 150);
}

std::int64_t draw_head_dim(Choices& choose) {
  if (choose.one_in(3)) return choose.one_of<std::int64_t>({64, 128});
  if (choose.one_in(6)) return choose.between(1, kMaxHeadDim);
  return choose.one_in(2) ? choose.between(1, 12) * 8 : choose.between(1, 100);
}

std::vector<std::int64_t> draw_lengths(Choices& choose, std::int64_t batch) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t b = 0; b < batch; ++b) {
    lengths.push_back(choose.one_in(6) ? 0 : std::min<std::int64_t>(draw_length(choose), 100));
  }
  return lengths;
}

std::vector<std::int64_t> draw_padding(Choices& choose, const std::vector<std::int64_t>& lengths) {
  std::vector<std::int64_t> padded;
  for (const std::int64_t length : lengths) padded.push_back(length + choose.between(0, 9));
  return padded;
}

void draw_shape(Choices& choose, Problem& problem) {
  problem.nhead_k = choose.between(1, 3);
  problem.nhead_q = problem.nhead_k * choose.one_of<std::int64_t>({1, 1, 1, 2, 3, 4});
  problem.hdim_q = draw_head_dim(choose);
  problem.hdim_v = choose.one_in(3) ? draw_head_dim(choose) : problem.hdim_q;
  problem.layout = choose.one_of({Layout::bhsd, Layout::bshd, Layout::bhsd, Layout::bshd, Layout::qkv});
  const bool packed = problem.layout == Layout::qkv;
  if (packed) problem.hdim_v = problem.hdim_q;

  const bool padded = choose.one_in(5);
  if (choose.one_in(3)) {
    const std::int64_t batch = choose.between(1, 4);
    const std::vector<std::int64_t> queries = draw_lengths(choose, batch);
    make_grouped(problem, queries, packed || choose.one_in(2) ? queries : draw_lengths(choose, batch));
    if (padded) problem.padded_q = draw_padding(choose, problem.seqlens_q);
    if (padded) problem.padded_k = packed ? problem.padded_q : draw_padding(choose, problem.seqlens_k);
    return;
  }
  problem.batch = choose.between(1, 3);
  problem.seqlen_q = draw_length(choose);
  problem.seqlen_k = packed || choose.one_in(3) ? problem.seqlen_q : draw_length(choose);
  if (padded) problem.padded_q = draw_padding(choose, {problem.seqlen_q});
  if (padded) problem.padded_k = packed ? problem.padded_q : draw_padding(choose, {problem.seqlen_k});
}

void draw_scores(Choices& choose, Problem& problem) {
  problem.scale = default_scale(problem.hdim_q);
  if (choose.one_in(4)) problem.scale *= choose.one_of({0.0F, -1.0F, 0.3F, 2.0F});
  if (choose.one_in(2)) return;  // half of the problems are plain
  if (choose.one_in(3)) problem.softcap = choose.one_of({0.5F, 2.0F, 30.0F});
  if (choose.one_in(3)) {
    problem.bias = choose.one_of({BiasShape::shared, BiasShape::head, BiasShape::batch, BiasShape::full});
  }
  problem.alibi = choose.one_in(4);
  problem.sink = choose.one_in(3);
  if (choose.one_in(3)) {
    problem.dropout = {choose.one_of({0.1F, 0.5F, 0.9F}), choose.integer(), choose.integer()};
  }
}

MaskSpec draw_mask(Choices& choose, const Problem& problem) {
  const std::int64_t longest = std::max(problem.seqlen_q, problem.seqlen_k);
  const auto limit = [&] { return choose.one_in(4) ? kUnbounded : choose.between(0, longest); };
  switch (choose.between(0, 7)) {
    case 0:
    case 1:
      return kNoMask;
    case 2:
      return kTopLeft;
    case 3:
      return kBottomRight;
    case 4:
      return {.alignment = Alignment::top_left, .left = limit(), .right = limit(), .document_ends = {}};
    case 5:
      return {.left = limit(), .right = limit(), .document_ends = {}};
    case 6: {
      MaskSpec mask = kTopLeft;
      mask.prefix = choose.between(1, longest + 2);
      return mask;
    }
    default: {
      if (longest == 0) return kNoMask;  // no documents of nothing
      MaskSpec mask{.alignment = Alignment::top_left, .document_ends = {}};
      if (choose.one_in(2)) mask.right = 0;
      std::int64_t end = 0;
      while (mask.document_ends.empty() || (mask.document_ends.size() < 5 && end < longest)) {
        end = std::min(longest, end + choose.between(1, longest / 2 + 1));
        mask.document_ends.push_back(end);
      }
      return mask;
    }
  }
}

Fill draw_fill(Choices& choose) {
  Fill fill;
  fill.seed = choose.integer();
  fill.kind = choose.one_of({FillKind::normal, FillKind::normal, FillKind::normal, FillKind::normal,
                             FillKind::uniform, FillKind::integers, FillKind::zeros, FillKind::extreme});
  if (fill.kind == FillKind::normal) fill.standard_deviation = choose.one_of({0.1F, 1.0F, 1.0F, 3.0F});
  fill.d_o_is_one = choose.one_in(8);
  return fill;
}

/// Of one product of all pairs.
double multiply_adds(const Problem& p) {
  return static_cast<double>(p.batch * p.nhead_q) * static_cast<double>(p.seqlen_q) *
         static_cast<double>(p.seqlen_k) * static_cast<double>(std::max(p.hdim_q, p.hdim_v));
}

void cut_to_size(Problem& problem) {
  while (multiply_adds(problem) > kMaxRandomWork) {
    if (problem.nhead_k > 1) {
      problem.nhead_q /= problem.nhead_k;
      problem.nhead_k = 1;
    } else if (problem.nhead_q > 1) {
      problem.nhead_q = 1;
    } else if (!problem.grouped() && problem.batch > 1) {
      problem.batch = 1;
    } else {
      problem.hdim_q = (problem.hdim_q + 1) / 2;
      problem.hdim_v = (problem.hdim_v + 1) / 2;
    }
  }
}

/// What the fast families are made for: 16-bit types, common head dimensions, scores that are scale Q K^T.
RandomCase draw_common_case(Choices& choose) {
  RandomCase drawn;
  Problem& p = drawn.problem;
  p.dtype = choose.one_of({DType::fp16, DType::bf16});
  p.layout = choose.one_of({Layout::bhsd, Layout::bshd});
  p.batch = choose.between(1, 2);
  p.nhead_k = choose.between(1, 2);
  p.nhead_q = p.nhead_k * choose.one_of<std::int64_t>({1, 1, 2, 4});
  p.seqlen_q = draw_length(choose);
  p.seqlen_k = choose.one_in(2) ? p.seqlen_q : draw_length(choose);
  p.hdim_q = p.hdim_v = choose.one_of<std::int64_t>({64, 128});
  p.scale = default_scale(p.hdim_q);
  cut_to_size(p);
  drawn.mask = basic_masks()[static_cast<std::size_t>(choose.between(0, 2))];
  if (drawn.mask != kNoMask && choose.one_in(4)) drawn.mask.right = choose.between(0, 70);
  drawn.fill = draw_fill(choose);
  return drawn;
}

}  // namespace

RandomCase draw_case(std::uint64_t seed, std::uint64_t number) {
  Choices choose(seed, number);
  if (choose.one_in(5)) return draw_common_case(choose);
  RandomCase drawn;
  drawn.problem.dtype = choose.one_of({DType::fp16, DType::bf16, DType::fp32});
  draw_shape(choose, drawn.problem);
  cut_to_size(drawn.problem);
  draw_scores(choose, drawn.problem);
  drawn.problem.deterministic = choose.one_in(4);
  drawn.mask = masks_from(name_of(draw_mask(choose, drawn.problem))).front();  // as it would be parsed
  drawn.fill = draw_fill(choose);
  return drawn;
}

}  // namespace fmha_bwd
