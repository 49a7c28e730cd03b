// The section of the table report about what ran.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "src/report/columns.h"
#include "src/report/numbers.h"
#include "src/report/sections.h"
#include "src/text_width.h"

namespace fmha_bwd {
namespace {

constexpr std::size_t kValueWidth = 84;  // of a line of the header, so that it ends by column 100
constexpr std::size_t kLengthsShown = 6;

std::string problem_text(const Problem& p) {
  const std::string layout = p.layout == Layout::bhsd ? "" : fmt::format(" {}", name_of(p.layout));
  return fmt::format("B={} H={} Hk={} Sq={} Sk={} D={} Dv={}  {}{}  scale={}", p.batch, p.nhead_q, p.nhead_k,
                     p.seqlen_q, p.seqlen_k, p.hdim_q, p.hdim_v, name_of(p.dtype), layout, exact(p.scale));
}

/// "5,7,9", "64,64,64,64,64,64,… 128 rows", and the rows with padding.
std::string lengths_text(const std::vector<std::int64_t>& lengths, const std::vector<std::int64_t>& padded) {
  const auto sum = [](const std::vector<std::int64_t>& list) {
    return std::accumulate(list.begin(), list.end(), std::int64_t{0});
  };
  const auto shown = static_cast<std::ptrdiff_t>(std::min(lengths.size(), kLengthsShown));
  std::string text = fmt::format("{}", fmt::join(lengths.begin(), lengths.begin() + shown, ","));
  if (lengths.size() > kLengthsShown) text += fmt::format(",… ({} rows)", sum(lengths));
  if (!padded.empty()) text += fmt::format(" in {} rows", sum(padded));
  return text;
}

/// Empty for sequences of one length without padding.
std::string sequences_text(const Problem& p) {
  if (p.grouped()) {
    return fmt::format("{} of their own length  q {}  k {}", p.seqlens_q.size(),
                       lengths_text(p.seqlens_q, p.padded_q), lengths_text(p.seqlens_k, p.padded_k));
  }
  if (p.padded_q.empty() && p.padded_k.empty()) return "";
  return fmt::format("q {}  k {}", lengths_text({p.seqlen_q}, p.padded_q),
                     lengths_text({p.seqlen_k}, p.padded_k));
}

/// Empty where the scores are scale Q K^T alone.
std::string scores_text(const Problem& p) {
  std::vector<std::string> parts;
  if (p.softcap != 0.0F) parts.push_back(fmt::format("softcap={}", exact(p.softcap)));
  if (p.bias != BiasShape::none) parts.push_back(fmt::format("bias={}", name_of(p.bias)));
  if (p.alibi) parts.emplace_back("ALiBi");
  if (p.sink) parts.emplace_back("sink");
  if (p.dropout.probability != 0.0F) {
    parts.push_back(fmt::format("dropout={} seed={} offset={}", exact(p.dropout.probability), p.dropout.seed,
                                p.dropout.offset));
  }
  return fmt::format("{}", fmt::join(parts, "  "));
}

std::string inputs_text(const RunResult& run) {
  const Fill& fill = run.fill;
  std::string text(name_of(fill.kind));
  if (fill.kind == FillKind::normal) text += fmt::format("  std={}", exact(fill.standard_deviation));
  if (fill.d_o_is_one) text += "  dO=1";
  return text + fmt::format("  seed={}  checksum {:016x}", fill.seed, run.input_checksum);
}

std::string loaded_text(const RunResult& run) {
  std::vector<std::string_view> names;
  for (const TensorId id : run.loaded) names.push_back(name_of(id));
  return names.empty() ? "" : fmt::format("loaded from files: {}", fmt::join(names, ", "));
}

/// A kernel and the masks that it computed.
struct KernelUse {
  std::string kernel;
  std::string reason;
  std::vector<std::string> masks;
};

std::vector<KernelUse> kernels_of(const RunResult& run) {
  std::vector<KernelUse> uses;
  for (const MaskResult& mask : run.masks) {
    auto use = std::find_if(uses.begin(), uses.end(), [&](const KernelUse& other) {
      return other.kernel == mask.kernel && other.reason == mask.kernel_reason;
    });
    if (use == uses.end()) use = uses.insert(uses.end(), {mask.kernel, mask.kernel_reason, {}});
    use->masks.push_back(label_of(mask.mask));
  }
  return uses;
}

/// Names and values, with the reason for a value on a line of its own where it is long.
class Lines {
 public:
  void add(std::string name, std::string value, const std::string& reason = "") {
    const std::string both = fmt::format("{} ({})", value, reason);
    const bool one_line = !reason.empty() && display_width(both) <= kValueWidth;
    columns_.add({{std::move(name), Style::dim}, {one_line ? both : std::move(value)}});
    if (!reason.empty() && !one_line) columns_.add({{""}, {reason}});
  }
  void add_where_any(std::string name, std::string value) {
    if (!value.empty()) add(std::move(name), std::move(value));
  }
  std::string text(bool colour) const { return columns_.text(colour); }

 private:
  Columns columns_{{{"", Align::left}, {"", Align::left}}};
};

}  // namespace

std::string header_section(const RunResult& run, const TableStyle& style) {
  Lines lines;
  lines.add("problem", problem_text(run.problem));
  lines.add_where_any("sequences", sequences_text(run.problem));
  lines.add_where_any("scores", scores_text(run.problem));
  lines.add_where_any("bits", run.problem.deterministic ? "the same in every run (--deterministic)" : "");
  lines.add("device", fmt::format("{}:{}  {}", run.platform, run.device_index, run.device_name),
            run.device_reason);
  lines.add("architecture", run.arch);
  const std::vector<KernelUse> uses = kernels_of(run);
  for (const KernelUse& use : uses) {
    const bool first = &use == &uses.front();
    const std::string masks = uses.size() == 1 ? "" : fmt::format(" for {}", fmt::join(use.masks, ", "));
    lines.add(first ? "kernel" : "", use.kernel + masks, use.reason);
  }
  lines.add("inputs", inputs_text(run));
  lines.add_where_any("", loaded_text(run));
  if (!run.verification.empty()) lines.add("verification", run.verification, run.verification_reason);
  return painted(fmt::format("fmha_bwd {}", run.version), Style::strong, style.colour) + "\n" +
         lines.text(style.colour);
}

}  // namespace fmha_bwd
