#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "src/report/bench/mask_pictures.h"
#include "src/report/bench/page.h"
#include "src/report/bench/tables.h"
#include "src/report/numbers.h"

namespace fmha_bwd {
namespace {

using Json = nlohmann::ordered_json;

Json number(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

/// "NVIDIA H200 · sm_90 · driver 570.86": those that are known.
std::string about(const BenchContext& context) {
  std::vector<std::string> parts;
  const auto add = [&](const char* before, const std::string& text) {
    if (!text.empty()) parts.push_back(before + text);
  };
  add("", context.device);
  add("", context.arch);
  add("driver ", context.driver);
  add("", context.runtime);
  add("revision ", context.revision);
  add("", context.started);
  add("cache ", context.cache);
  return fmt::format("{}", fmt::join(parts, " · "));
}

Json json_of(const NamedRun& run) {
  const BenchContext& context = run.results.context;
  return {{"label", run.label},
          {"about", about(context)},
          {"command", context.command},
          {"bandwidth", context.memory_gbytes_per_s > 0.0 ? Json(context.memory_gbytes_per_s) : nullptr}};
}

Json json_of(const ReportTable& table) {
  Json columns = Json::array();
  for (const TableColumn& column : table.columns) {
    columns.push_back({{"key", column.key},
                       {"title", column.title},
                       {"about", column.about},
                       {"numeric", column.align == Align::right}});
  }
  Json rows = Json::array();
  for (const auto& row : table.rows) {
    Json cells = Json::array();
    for (const TableCell& cell : row) {
      cells.push_back(cell.value ? Json::array({cell.text, *cell.value}) : Json(cell.text));
    }
    rows.push_back(std::move(cells));
  }
  return {{"columns", std::move(columns)}, {"rows", std::move(rows)}};
}

Json json_of(const BenchCase& item, const BenchContext& context, std::size_t run) {
  return {{"run", run},
          {"name", item.name},
          {"operation", item.operation},
          {"mask", item.mask},
          {"dtype", item.dtype},
          {"layout", item.layout},
          {"batch", item.batch},
          {"nhead_q", item.nhead_q},
          {"nhead_k", item.nhead_k},
          {"seqlen_q", item.seqlen_q},
          {"seqlen_k", item.seqlen_k},
          {"grouped", !item.seqlens_q.empty()},
          {"hdim_q", item.hdim_q},
          {"hdim_v", item.hdim_v},
          {"extras", item.extras},
          {"tflops", number(rates_of(item, context, time_of(item)).tflops)},
          {"flops_per_byte", number(item.flops / item.bytes)},
          {"peak_tflops", item.peak_flops > 0.0 ? Json(item.peak_flops * 1e-12) : nullptr},
          {"command", item.command},
          {"error", item.error}};
}

Json cases_of(const BenchReport& report) {
  Json cases = Json::array();
  for (std::size_t run = 0; run < report.runs.size(); ++run) {
    const BenchResults& results = report.runs[run].results;
    for (const BenchCase& item : results.cases) cases.push_back(json_of(item, results.context, run));
  }
  return cases;
}

Json masks_of(const BenchReport& report) {
  Json masks = Json::array();
  for (const DrawnMask& mask : masks_drawn(report)) {
    Json shapes = Json::array();
    for (const DrawnMask::Shape& shape : mask.shapes) {
      shapes.push_back({shape.seqlen_q, shape.seqlen_k, Numbers().percent(shape.density, 2)});
    }
    masks.push_back({{"mask", mask.mask},
                     {"lines", mask.picture.lines},
                     {"queries_a_cell", mask.picture.queries_a_cell},
                     {"keys_a_cell", mask.picture.keys_a_cell},
                     {"shapes", std::move(shapes)}});
  }
  return masks;
}

struct Totals {
  std::size_t cases = 0;
  std::size_t errors = 0;
  std::size_t rounds = 0;
  std::int64_t throttled = 0;
  double best = 0.0;  // TFLOPS
  std::string best_case;
};

Totals totals_of(const BenchReport& report) {
  Totals totals;
  for (const NamedRun& run : report.runs) {
    for (const BenchCase& item : run.results.cases) {
      ++totals.cases;
      if (!item.error.empty()) ++totals.errors;
      totals.rounds += item.rounds.size();
      totals.throttled += throttled_rounds(item);
      const double tflops = rates_of(item, run.results.context, time_of(item)).tflops;
      if (!(tflops > totals.best)) continue;
      totals.best = tflops;
      totals.best_case = item.name;
    }
  }
  return totals;
}

Json figures_of(const BenchReport& report) {
  const Totals totals = totals_of(report);
  const auto figure = [](const char* key, const std::string& text, const char* label, std::string about_it,
                         bool bad = false) {
    return Json{{"key", key}, {"text", text}, {"label", label}, {"about", std::move(about_it)}, {"bad", bad}};
  };
  const std::size_t runs = report.runs.size();
  return Json::array(
      {figure("cases", fmt::format("{}", totals.cases), totals.cases == 1 ? "case" : "cases",
              runs == 1 ? "in one run" : fmt::format("in {} runs", runs)),
       figure("best", totals.best > 0.0 ? Numbers().rate(totals.best) : kMissing, "TFLOPS at best",
              totals.best_case),
       figure("errors", fmt::format("{}", totals.errors), totals.errors == 1 ? "error" : "errors",
              totals.errors == 0 ? "every case was measured" : "not measured", totals.errors > 0),
       figure("throttled", fmt::format("{}", totals.throttled), "throttled rounds",
              fmt::format("of {}", totals.rounds), totals.throttled > 0)});
}

}  // namespace

std::string page_data(const BenchReport& report) {
  Json runs = Json::array();
  for (const NamedRun& run : report.runs) runs.push_back(json_of(run));
  const Json data = {{"title", report.title},
                     {"warnings", warnings_of(report)},
                     {"runs", std::move(runs)},
                     {"figures", figures_of(report)},
                     {"tables",
                      {{"cases", json_of(cases_table(report))},
                       {"comparison", report.baseline ? json_of(comparison_table(report)) : Json(nullptr)},
                       {"context", json_of(context_table(report))}}},
                     {"cases", cases_of(report)},
                     {"masks", masks_of(report)}};
  // "<" would let a text end the script element; only strings of JSON have it, where the escape means the
  // same.
  std::string text;
  for (const char c : data.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    text += c == '<' ? "\\u003c" : std::string(1, c);
  }
  return text;
}

}  // namespace fmha_bwd
