#include "src/report/json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "src/report/numbers.h"
#include "src/report/verdict.h"

namespace fmha_bwd {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 2;

Json number(double x) { return std::isfinite(x) ? Json(x) : Json(exact(x)); }
/// The double whose shortest decimal is that of `x`: 0.1, not 0.10000000149011612.
Json number(float x) { return number(std::stod(exact(x))); }
Json number(const std::optional<double>& x) { return x ? number(*x) : Json(nullptr); }

Json extent(const Extent& range) { return {{"min", number(range.min)}, {"max", number(range.max)}}; }

Json index(const Shape& shape) { return {shape.batch, shape.head, shape.row, shape.column}; }

/// null for none.
Json lengths(const std::vector<std::int64_t>& list) { return list.empty() ? Json(nullptr) : Json(list); }

Json dropout(const Dropout& dropout) {
  if (dropout.probability == 0.0F) return nullptr;
  return {{"probability", number(dropout.probability)}, {"seed", dropout.seed}, {"offset", dropout.offset}};
}

Json problem(const Problem& problem) {
  return {{"mode", problem.grouped() ? "group" : "batch"},
          {"batch", problem.batch},
          {"nhead_q", problem.nhead_q},
          {"nhead_k", problem.nhead_k},
          {"seqlen_q", problem.seqlen_q},
          {"seqlen_k", problem.seqlen_k},
          {"seqlens_q", lengths(problem.seqlens_q)},
          {"seqlens_k", lengths(problem.seqlens_k)},
          {"padded_q", lengths(problem.padded_q)},
          {"padded_k", lengths(problem.padded_k)},
          {"hdim_q", problem.hdim_q},
          {"hdim_v", problem.hdim_v},
          {"dtype", name_of(problem.dtype)},
          {"layout", name_of(problem.layout)},
          {"scale", number(problem.scale)},
          {"softcap", number(problem.softcap)},
          {"bias", name_of(problem.bias)},
          {"alibi", problem.alibi},
          {"sink", problem.sink},
          {"dropout", dropout(problem.dropout)},
          {"deterministic", problem.deterministic}};
}

Json inputs(const RunResult& run) {
  const bool normal = run.fill.kind == FillKind::normal;
  Json loaded = Json::array();
  for (const TensorId id : run.loaded) loaded.push_back(name_of(id));
  return {{"fill", name_of(run.fill.kind)},
          {"fill_do", run.fill.d_o_is_one ? "ones" : "fill"},
          {"seed", run.fill.seed},
          {"standard_deviation", normal ? number(run.fill.standard_deviation) : Json(nullptr)},
          {"loaded", loaded},
          {"checksum", fmt::format("{:016x}", run.input_checksum)}};
}

Json gradients(const MaskResult& mask) {
  Json result = Json::object();
  for (const GradientSummary& gradient : mask.gradients) {
    result[std::string(name_of(gradient.id))] = {
        {"mean_abs", number(gradient.mean_abs)},
        {"l2_norm", number(gradient.l2_norm)},
        {"range", extent(gradient.range)},
        {"max_diff_to_no_mask", number(gradient.max_diff_to_no_mask)}};
  }
  return result;
}

Json worst(const TensorVerdict& verdict) {
  Json result = Json::array();
  for (const Mismatch& mismatch : verdict.worst) {
    result.push_back({{"index", index(mismatch.index)},
                      {"actual", number(mismatch.actual)},
                      {"expected", number(mismatch.expected)}});
  }
  return result;
}

Json verification(const std::vector<TensorVerdict>& verdicts) {
  Json result = Json::object();
  for (const TensorVerdict& verdict : verdicts) {
    result[std::string(name_of(verdict.id))] = {{"passed", verdict.passed},
                                                {"conclusive", verdict.conclusive()},
                                                {"max_diff", number(verdict.max_diff)},
                                                {"max_diff_budget", number(verdict.max_diff_budget)},
                                                {"l2_diff", number(verdict.l2_diff)},
                                                {"l2_budget", number(verdict.l2_budget)},
                                                {"reference_l2", number(verdict.reference_l2)},
                                                {"relative_l2", number(verdict.relative_l2())},
                                                {"budget_share", number(verdict.budget_share())},
                                                {"elements", verdict.elements},
                                                {"compared", verdict.compared},
                                                {"unwritten", verdict.unwritten},
                                                {"wrong_rows", verdict.wrong_rows},
                                                {"wrong", verdict.wrong},
                                                {"worst", worst(verdict)},
                                                {"guard_damaged", verdict.guard_damaged}};
  }
  return result;
}

Json sampled(const SampledSide& side) {
  Json classes = Json::object();
  for (const RowClass& rows : side.classes) {
    classes[std::string(rows.name)] = {{"rows", rows.rows}, {"sampled", rows.sampled}};
  }
  return {{"classes", classes},
          {"boundary_missed", number(side.boundary_missed)},
          {"share_missed", number(side.share_missed)}};
}

Json sampled(const std::optional<SampledRows>& rows) {
  if (!rows) return nullptr;
  return {{"fault_share", kFaultShare},
          {"queries", sampled(rows->queries)},
          {"keys", sampled(rows->keys)},
          {"bias", rows->bias ? sampled(*rows->bias) : Json(nullptr)}};
}

Json difference(const std::optional<Difference>& difference) {
  if (!difference) return nullptr;
  return {{"tensor", name_of(difference->id)},  {"run", difference->run},
          {"index", index(difference->index)},  {"first", number(difference->first)},
          {"other", number(difference->other)}, {"elements", difference->elements}};
}

Json determinism(const std::optional<Determinism>& determinism) {
  if (!determinism) return nullptr;
  return {{"runs", determinism->runs},
          {"required", determinism->required},
          {"difference", difference(determinism->difference)}};
}

Json emulator_stats(const std::optional<std::vector<SharedAccessSite>>& sites) {
  if (!sites) return nullptr;
  Json result = Json::array();
  for (const SharedAccessSite& site : *sites) {
    result.push_back({{"kernel", site.kernel},
                      {"function", site.function},
                      {"line", site.line},
                      {"kind", site.kind},
                      {"bytes", site.bytes},
                      {"accesses", site.accesses},
                      {"phases", site.phases},
                      {"conflicts", site.conflicts}});
  }
  return result;
}

Json timing(const std::optional<Timing>& times) {
  if (!times) return nullptr;
  return {{"warmup", times->warmup},
          {"samples", times->samples},
          {"zero_dq_ms", number(times->zero_dq_ms)},
          {"dot_do_o_ms", number(times->dot_do_o_ms)},
          {"dq_dk_dv_ms", number(times->dq_dk_dv_ms)},
          {"convert_dq_ms", number(times->convert_dq_ms)},
          {"total_ms", number(times->total_ms)},
          {"total_min_ms", number(times->total_min_ms)},
          {"total_max_ms", number(times->total_max_ms)},
          {"tflops", number(times->tflops)},
          {"tflops_dense", number(times->tflops_dense)}};
}

Json mask(const MaskResult& mask) {
  return {{"mask", name_of(mask.mask)},
          {"kernel", {{"name", mask.kernel}, {"reason", mask.kernel_reason}}},
          {"verdict", name_of(verdict_of(mask))},
          {"density", number(mask.counts.density())},
          {"all_pairs", mask.counts.all_pairs},
          {"visible_pairs", mask.counts.visible_pairs},
          {"rows", mask.counts.rows},
          {"keys", mask.counts.keys},
          {"empty_rows", mask.counts.empty_rows},
          {"empty_keys", mask.counts.empty_keys},
          {"flops", number(mask.flops)},
          {"gradients", gradients(mask)},
          {"d_range", extent(mask.d_range)},
          {"p_sparsity", number(mask.p_sparsity)},
          {"sampled", sampled(mask.sampled)},
          {"verification", verification(mask.verdicts)},
          {"third_opinion", verification(mask.third_opinion)},
          {"determinism", determinism(mask.determinism)},
          {"emulator_stats", emulator_stats(mask.emulator_stats)},
          {"timing", timing(mask.timing)},
          {"command", mask.command}};
}

}  // namespace

std::string json_report(const RunResult& run) {
  Json masks = Json::array();
  for (const MaskResult& result : run.masks) masks.push_back(mask(result));
  const Json report = {{"schema_version", kSchemaVersion},
                       {"program", "fmha_bwd"},
                       {"version", run.version},
                       {"verdict", name_of(verdict_of(run))},
                       {"problem", problem(run.problem)},
                       {"inputs", inputs(run)},
                       {"device",
                        {{"platform", run.platform},
                         {"index", run.device_index},
                         {"name", run.device_name},
                         {"arch", run.arch},
                         {"reason", run.device_reason},
                         {"emulated", run.emulated}}},
                       {"verification", {{"how", run.verification}, {"reason", run.verification_reason}}},
                       {"masks", masks}};
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace fmha_bwd
