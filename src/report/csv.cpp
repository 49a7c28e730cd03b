#include "src/report/csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

#include "src/report/numbers.h"
#include "src/report/verdict.h"

namespace fmha_bwd {
namespace {

constexpr std::array<TensorId, 5> kGradients = {TensorId::dq, TensorId::dk, TensorId::dv, TensorId::dbias,
                                                TensorId::dsink};
constexpr std::array<TensorId, 8> kVerified = {TensorId::dq,    TensorId::dk, TensorId::dv,  TensorId::dbias,
                                               TensorId::dsink, TensorId::o,  TensorId::lse, TensorId::d};

struct Field {
  std::string column;
  std::string value;
};

/// One row, growing.
class Row {
 public:
  void add(std::string column, std::string value) {
    fields_.push_back({std::move(column), std::move(value)});
  }
  void add(std::string column, const char* value) { add(std::move(column), std::string(value)); }
  void add(std::string column, std::string_view value) { add(std::move(column), std::string(value)); }
  void add(std::string column, const std::optional<double>& value) {
    add(std::move(column), value ? exact(*value) : std::string());
  }
  template <class Number>
  void add(std::string column, Number value) {
    add(std::move(column), fmt::format("{}", value));
  }

  const std::vector<Field>& fields() const { return fields_; }

 private:
  std::vector<Field> fields_;
};

std::string lower(std::string_view name) {
  std::string result(name);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

/// "5 7 9"; empty for none.
std::string list_text(const std::vector<std::int64_t>& list) {
  return fmt::format("{}", fmt::join(list, " "));
}

void add_problem(Row& row, const Problem& problem) {
  row.add("mode", problem.grouped() ? "group" : "batch");
  row.add("batch", problem.batch);
  row.add("nhead_q", problem.nhead_q);
  row.add("nhead_k", problem.nhead_k);
  row.add("seqlen_q", problem.seqlen_q);
  row.add("seqlen_k", problem.seqlen_k);
  row.add("seqlens_q", list_text(problem.seqlens_q));
  row.add("seqlens_k", list_text(problem.seqlens_k));
  row.add("padded_q", list_text(problem.padded_q));
  row.add("padded_k", list_text(problem.padded_k));
  row.add("hdim_q", problem.hdim_q);
  row.add("hdim_v", problem.hdim_v);
  row.add("dtype", name_of(problem.dtype));
  row.add("layout", name_of(problem.layout));
  row.add("scale", problem.scale);
  row.add("softcap", problem.softcap);
  row.add("bias", name_of(problem.bias));
  row.add("alibi", problem.alibi);
  row.add("sink", problem.sink);
  row.add("dropout", problem.dropout.probability);
  row.add("dropout_seed", problem.dropout.seed);
  row.add("dropout_offset", problem.dropout.offset);
  row.add("deterministic", problem.deterministic);
}

void add_run(Row& row, const RunResult& run) {
  row.add("version", run.version);
  row.add("platform", run.platform);
  row.add("device_index", run.device_index);
  row.add("device_name", run.device_name);
  row.add("arch", run.arch);
  row.add("emulated", run.emulated);
  add_problem(row, run.problem);
  std::vector<std::string_view> loaded;
  for (const TensorId id : run.loaded) loaded.push_back(name_of(id));
  row.add("fill", name_of(run.fill.kind));
  row.add("fill_do", run.fill.d_o_is_one ? "ones" : "fill");
  row.add("seed", run.fill.seed);
  row.add("standard_deviation",
          run.fill.kind == FillKind::normal ? exact(run.fill.standard_deviation) : std::string());
  row.add("loaded", fmt::format("{}", fmt::join(loaded, " ")));
  row.add("input_checksum", fmt::format("{:016x}", run.input_checksum));
  row.add("verification", run.verification);
}

/// Empty values where the problem has no such gradient.
void add_gradient(Row& row, TensorId id, const MaskResult& mask) {
  const auto found = std::find_if(mask.gradients.begin(), mask.gradients.end(),
                                  [id](const GradientSummary& gradient) { return gradient.id == id; });
  const std::string prefix = lower(name_of(id));
  const auto add = [&](const char* suffix, auto value) {
    if (found == mask.gradients.end()) return row.add(prefix + suffix, "");
    row.add(prefix + suffix, std::optional<double>(value(*found)));
  };
  add("_mean_abs", [](const GradientSummary& gradient) { return gradient.mean_abs; });
  add("_l2_norm", [](const GradientSummary& gradient) { return gradient.l2_norm; });
  add("_min", [](const GradientSummary& gradient) { return gradient.range.min; });
  add("_max", [](const GradientSummary& gradient) { return gradient.range.max; });
  add("_max_diff_to_no_mask", [](const GradientSummary& gradient) { return gradient.max_diff_to_no_mask; });
}

std::int64_t sampled_queries(const SampledRows& rows) {
  std::int64_t sampled = 0;
  for (const RowClass& of : rows.queries.classes) sampled += of.sampled;
  return sampled;
}

/// Empty where it was not asked for.
std::string_view third_opinion(const MaskResult& mask) {
  const std::vector<TensorVerdict>& verdicts = mask.third_opinion;
  if (verdicts.empty()) return "";
  const bool passed = std::all_of(verdicts.begin(), verdicts.end(),
                                  [](const TensorVerdict& verdict) { return verdict.passed; });
  return passed ? "passed" : "failed";
}

void add_mask(Row& row, const MaskResult& mask) {
  row.add("mask", name_of(mask.mask));
  row.add("kernel", mask.kernel);
  row.add("verdict", name_of(verdict_of(mask)));
  row.add("density", mask.counts.density());
  row.add("all_pairs", mask.counts.all_pairs);
  row.add("visible_pairs", mask.counts.visible_pairs);
  row.add("empty_rows", mask.counts.empty_rows);
  row.add("empty_keys", mask.counts.empty_keys);
  row.add("flops", mask.flops);
  for (const TensorId id : kGradients) add_gradient(row, id, mask);
  row.add("d_min", mask.d_range.min);
  row.add("d_max", mask.d_range.max);
  row.add("p_sparsity", mask.p_sparsity);
  row.add("sampled_rows", mask.sampled ? fmt::format("{}", sampled_queries(*mask.sampled)) : std::string());
  row.add("third_opinion", third_opinion(mask));
}

void add_determinism(Row& row, const std::optional<Determinism>& determinism) {
  const auto text = [&](auto value) {
    return determinism ? fmt::format("{}", value(*determinism)) : std::string();
  };
  row.add("determinism_runs", text([](const Determinism& d) { return d.runs; }));
  row.add("runs_differ", text([](const Determinism& d) { return d.difference.has_value(); }));
}

/// The sum over all accesses; empty where they were not counted.
void add_bank_conflicts(Row& row, const MaskResult& mask) {
  if (!mask.emulator_stats) return row.add("bank_conflicts", "");
  std::int64_t conflicts = 0;
  for (const SharedAccessSite& site : *mask.emulator_stats) conflicts += site.conflicts;
  row.add("bank_conflicts", conflicts);
}

void add_verdict(Row& row, TensorId id, const std::vector<TensorVerdict>& verdicts) {
  const auto found = std::find_if(verdicts.begin(), verdicts.end(),
                                  [id](const TensorVerdict& verdict) { return verdict.id == id; });
  const TensorVerdict* verdict = found == verdicts.end() ? nullptr : &*found;
  const auto add = [&](const char* suffix, auto value) {
    std::string column = lower(name_of(id)) + suffix;
    if (verdict == nullptr) {
      row.add(std::move(column), "");
    } else {
      row.add(std::move(column), value(*verdict));
    }
  };
  add("_verdict", [](const TensorVerdict& v) { return v.passed ? "passed" : "failed"; });
  add("_max_diff", [](const TensorVerdict& v) { return v.max_diff; });
  add("_max_diff_budget", [](const TensorVerdict& v) { return v.max_diff_budget; });
  add("_l2_diff", [](const TensorVerdict& v) { return v.l2_diff; });
  add("_l2_budget", [](const TensorVerdict& v) { return v.l2_budget; });
  add("_relative_l2", [](const TensorVerdict& v) { return v.relative_l2(); });
  add("_budget_share", [](const TensorVerdict& v) { return v.budget_share(); });
  add("_elements", [](const TensorVerdict& v) { return v.elements; });
  add("_compared", [](const TensorVerdict& v) { return v.compared; });
  add("_wrong", [](const TensorVerdict& v) { return v.wrong; });
  add("_guard_damaged", [](const TensorVerdict& v) { return v.guard_damaged; });
}

void add_timing(Row& row, const std::optional<Timing>& timing) {
  const auto add = [&](const char* column, auto member) {
    if (timing) {
      row.add(column, (*timing).*member);
    } else {
      row.add(column, "");
    }
  };
  add("warmup", &Timing::warmup);
  add("samples", &Timing::samples);
  add("zero_dq_ms", &Timing::zero_dq_ms);
  add("dot_do_o_ms", &Timing::dot_do_o_ms);
  add("dq_dk_dv_ms", &Timing::dq_dk_dv_ms);
  add("convert_dq_ms", &Timing::convert_dq_ms);
  add("total_ms", &Timing::total_ms);
  add("total_min_ms", &Timing::total_min_ms);
  add("total_max_ms", &Timing::total_max_ms);
  add("tflops", &Timing::tflops);
  add("tflops_dense", &Timing::tflops_dense);
}

Row row_of(const RunResult& run, const MaskResult& mask) {
  Row row;
  add_run(row, run);
  add_mask(row, mask);
  for (const TensorId id : kVerified) add_verdict(row, id, mask.verdicts);
  add_determinism(row, mask.determinism);
  add_bank_conflicts(row, mask);
  add_timing(row, mask.timing);
  row.add("command", mask.command);
  return row;
}

std::string line_of(const Row& row, std::string Field::*member) {
  std::vector<std::string> texts;
  for (const Field& field : row.fields()) texts.push_back(csv_quoted(field.*member));
  return fmt::format("{}\n", fmt::join(texts, ","));
}

}  // namespace

std::string csv_quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

std::string csv_report(const RunResult& run) {
  std::string report = line_of(row_of(run, MaskResult{}), &Field::column);
  for (const MaskResult& mask : run.masks) report += line_of(row_of(run, mask), &Field::value);
  return report;
}

}  // namespace fmha_bwd
