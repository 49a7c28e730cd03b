#include "kernels/library_request.h"

#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/mask_spec.h"

namespace fmha_bwd {
namespace {

void require_in(const char* member, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return;
  refuse_request(std::string(member) + ": " + std::to_string(value) + " is not in " + std::to_string(least) +
                 ".." + std::to_string(most));
}

/// `value` as an Enum whose enumerators are 0 to `last`.
template <class Enum>
Enum enumerator(const char* member, int value, Enum last) {
  require_in(member, value, 0, static_cast<int>(last));
  return static_cast<Enum>(value);
}

bool flag(const char* member, int value) {
  require_in(member, value, 0, 1);
  return value == 1;
}

/// The rule of the enumerator `mask` and its window.
MaskRule window_from(const fmha_bwd_problem& given) {
  require_in("mask", given.mask, FMHA_BWD_NO_MASK, FMHA_BWD_WINDOW_BOTTOM_RIGHT);
  if (given.mask < FMHA_BWD_WINDOW_TOP_LEFT) {
    require_in("window_left", given.window_left, 0, 0);
    require_in("window_right", given.window_right, 0, 0);
    return basic_masks()[static_cast<std::size_t>(given.mask)].rule();  // in the order of the enumerators
  }
  static_assert(FMHA_BWD_UNBOUNDED == kUnbounded);
  require_in("window_left", given.window_left, -kUnbounded, kUnbounded);
  require_in("window_right", given.window_right, -kUnbounded, kUnbounded);
  MaskRule rule;
  rule.alignment = given.mask == FMHA_BWD_WINDOW_TOP_LEFT ? Alignment::top_left : Alignment::bottom_right;
  rule.left = given.window_left;
  rule.right = given.window_right;
  return rule;
}

MaskRule mask_from(const fmha_bwd_problem& given) {
  MaskRule rule = window_from(given);
  require_in("prefix", given.prefix, 0, rule.left == kUnbounded ? kMaxExtent : 0);
  rule.prefix = given.prefix;
  require_in("documents", given.documents, 0, kMaxExtent);
  if (given.documents == 0) return rule;
  if (given.document_ends == nullptr) refuse_request("document_ends: null pointer");
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < given.documents; ++i) {
    require_in("document_ends", given.document_ends[i], last + 1, kUnbounded);
    last = given.document_ends[i];
  }
  rule.document_ends = given.document_ends;
  rule.documents = given.documents;
  return rule;
}

void group(Problem& problem, const fmha_bwd_problem& given) {
  if (given.seqlens_q == nullptr && given.seqlens_k == nullptr) return;
  if (given.seqlens_q == nullptr) refuse_request("seqlens_q: null pointer");
  if (given.seqlens_k == nullptr) refuse_request("seqlens_k: null pointer");
  require_in("batch", given.batch, 1, kMaxExtent);
  make_grouped(problem, {given.seqlens_q, given.seqlens_q + given.batch},
               {given.seqlens_k, given.seqlens_k + given.batch});
}

}  // namespace

void refuse_request(const std::string& message) { throw Error(ExitCode::bad_usage, message); }

Request request_from(const fmha_bwd_problem& given) {
  Problem problem;
  problem.batch = given.batch;
  problem.nhead_q = given.nhead_q;
  problem.nhead_k = given.nhead_k;
  problem.seqlen_q = given.seqlen_q;
  problem.seqlen_k = given.seqlen_k;
  problem.hdim_q = given.hdim_q;
  problem.hdim_v = given.hdim_v;
  problem.dtype = enumerator("dtype", given.dtype, DType::fp32);
  problem.scale = given.scale;
  problem.layout = enumerator("layout", given.layout, Layout::bshd);
  problem.softcap = given.softcap;
  problem.alibi = flag("alibi", given.alibi);
  problem.sink = flag("sink", given.sink);
  problem.dropout = {given.dropout, given.dropout_seed, given.dropout_offset};
  problem.deterministic = flag("deterministic", given.deterministic);
  group(problem, given);
  if (const auto complaint = complaint_about(problem)) refuse_request(*complaint);
  return {problem, mask_from(given)};
}

RequestTable::RequestTable(const Request& request)
    : request_(request),
      documents_at_(
          request.problem.grouped() ? static_cast<std::size_t>(request.problem.batch) * sizeof(Sequence) : 0),
      document_bytes_(static_cast<std::size_t>(request.mask.documents) * sizeof(std::int64_t)) {}

void RequestTable::fill(void* table) const {
  if (documents_at_ > 0) {
    const std::vector<Sequence> sequences = sequences_of(request_.problem);
    std::memcpy(table, sequences.data(), documents_at_);
  }
  if (document_bytes_ > 0) {
    std::memcpy(static_cast<std::byte*>(table) + documents_at_, request_.mask.document_ends, document_bytes_);
  }
}

const Sequence* RequestTable::sequences(const void* table) const {
  return documents_at_ > 0 ? static_cast<const Sequence*>(table) : nullptr;
}

MaskRule RequestTable::mask(const void* table) const {
  MaskRule rule = request_.mask;
  if (rule.documents > 0) {
    rule.document_ends =
        reinterpret_cast<const std::int64_t*>(static_cast<const std::byte*>(table) + documents_at_);
  }
  return rule;
}

}  // namespace fmha_bwd
