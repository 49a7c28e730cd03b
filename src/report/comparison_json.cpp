// A comparison for programs.
#include <nlohmann/json.hpp>

#include "src/report/comparison.h"

namespace fmha_bwd {
namespace {

using Json = nlohmann::ordered_json;

Json number(const std::optional<double>& x) { return x ? Json(*x) : Json(nullptr); }

Json ratio_json(const Ratio& ratio) {
  return {{"ratio", ratio.value}, {"interval", {ratio.interval.low, ratio.interval.high}}};
}

Json effect_json(const std::optional<Effect>& effect) {
  if (!effect) return nullptr;
  Json json = ratio_json(effect->time);
  json["p_slower"] = effect->evidence.p_slower;
  json["p_faster"] = effect->evidence.p_faster;
  json["cycles"] = effect->cycles ? ratio_json(*effect->cycles) : Json(nullptr);
  return json;
}

Json case_json(const CaseComparison& item) {
  return {{"name", item.name},
          {"verdict", name_of(item.verdict)},
          {"reason", item.reason},
          {"wrong_numbers", item.wrong_numbers},
          {"replays", item.replays},
          {"base_ms", number(item.base_ms)},
          {"new_ms", number(item.latest_ms)},
          {"base_rounds", item.base_rounds},
          {"new_rounds", item.latest_rounds},
          {"effect", effect_json(item.effect)},
          {"command", item.command}};
}

Json settings_json(const CompareSettings& settings) {
  return {{"max_slowdown", settings.max_slowdown},     {"alpha", settings.alpha},
          {"min_rounds", settings.min_rounds},         {"max_throttled_share", settings.max_throttled_share},
          {"allow_missing", settings.allow_missing},   {"confidence", settings.bootstrap.confidence},
          {"resamples", settings.bootstrap.resamples}, {"seed", settings.bootstrap.seed}};
}

}  // namespace

std::string comparison_json(const Comparison& comparison) {
  Json counts = Json::object();
  for (const CaseVerdict verdict : kCaseVerdicts) {
    counts[std::string(name_of(verdict))] = count_of(comparison, verdict);
  }
  Json cases = Json::array();
  for (const CaseComparison& item : comparison.cases) cases.push_back(case_json(item));
  const Json json = {{"schema_version", 1},
                     {"exit_code", static_cast<int>(exit_code_of(comparison))},
                     {"conclusion", conclusion_of(comparison)},
                     {"in_turn", comparison.in_turn},
                     {"counts", std::move(counts)},
                     {"settings", settings_json(comparison.settings)},
                     {"cases", std::move(cases)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace fmha_bwd
