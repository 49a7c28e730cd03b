#include "bench/results_json.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.h"
#include "bench/statistics.h"

namespace fmha_bwd {
namespace {

using Json = nlohmann::ordered_json;

/// Calls visit(name, member) for each member, so that one list serves reading and writing.
template <class Visit>
void members(BenchContext& x, const Visit& visit) {
  visit("version", x.version);
  visit("revision", x.revision);
  visit("command", x.command);
  visit("started", x.started);
  visit("host", x.host);
  visit("cpu", x.cpu);
  visit("cpus", x.cpus);
  visit("platform", x.platform);
  visit("device", x.device);
  visit("arch", x.arch);
  visit("driver", x.driver);
  visit("runtime", x.runtime);
  visit("emulated", x.emulated);
  visit("multiprocessors", x.multiprocessors);
  visit("max_clock_mhz", x.max_clock_mhz);
  visit("memory_gbytes_per_s", x.memory_gbytes_per_s);
  visit("cache_bytes", x.cache_bytes);
  visit("power_cap_watts", x.power_cap_watts);
  visit("telemetry", x.telemetry);
  visit("cache", x.cache);
  visit("warmup_seconds", x.warmup_seconds);
  visit("samples", x.samples);
  visit("min_seconds", x.min_seconds);
  visit("max_seconds", x.max_seconds);
  visit("rounds", x.rounds);
  visit("interleaved", x.interleaved);
  visit("in_turn", x.in_turn);
}

template <class Visit>
void members(Telemetry& x, const Visit& visit) {
  visit("clock_mhz", x.clock_mhz);
  visit("clock_source", x.clock_source);
  visit("power_watts", x.power_watts);
  visit("temperature_c", x.temperature_c);
  visit("throttle", x.throttle);
}

template <class Visit>
void members(Round& x, const Visit& visit) {
  visit("single_ms", x.single_ms);
  visit("batch_ms", x.batch_ms);
  visit("graph_ms", x.graph_ms);
  visit("batch_passes", x.batch_passes);
  visit("stopped", x.stopped);
  visit("slow_clock", x.slow_clock);
  visit("throttled", x.throttled);
  visit("telemetry", x.telemetry);
}

template <class Visit>
void members(BenchCase& x, const Visit& visit) {
  visit("name", x.name);
  visit("index", x.index);
  visit("command", x.command);
  visit("operation", x.operation);
  visit("mask", x.mask);
  visit("dtype", x.dtype);
  visit("layout", x.layout);
  visit("batch", x.batch);
  visit("nhead_q", x.nhead_q);
  visit("nhead_k", x.nhead_k);
  visit("seqlen_q", x.seqlen_q);
  visit("seqlen_k", x.seqlen_k);
  visit("seqlens_q", x.seqlens_q);
  visit("seqlens_k", x.seqlens_k);
  visit("hdim_q", x.hdim_q);
  visit("hdim_v", x.hdim_v);
  visit("extras", x.extras);
  visit("fill", x.fill);
  visit("input_checksum", x.input_checksum);
  visit("kernel", x.kernel);
  visit("device_index", x.device_index);
  visit("verification", x.verification);
  visit("all_pairs", x.all_pairs);
  visit("visible_pairs", x.visible_pairs);
  visit("flops", x.flops);
  visit("flops_dense", x.flops_dense);
  visit("bytes", x.bytes);
  visit("peak_flops", x.peak_flops);
  visit("error", x.error);
  visit("exit_code", x.exit_code);
  visit("rounds", x.rounds);
}

struct Writer {
  Json& to;

  template <class T>
  void operator()(const char* name, const T& value) const {
    to[name] = json_of(value);
  }

  template <class T>
  static Json json_of(const T& value) {
    return value;
  }
  template <class T>
  static Json json_of(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
  }
  static Json json_of(const Telemetry& value) { return object_of(value); }
  static Json json_of(const std::vector<Round>& rounds) {
    Json list = Json::array();
    for (const Round& round : rounds) list.push_back(object_of(round));
    return list;
  }
  template <class T>
  static Json object_of(T value) {
    Json object;
    members(value, Writer{object});
    return object;
  }
};

struct Reader {
  const Json& from;

  template <class T>
  void operator()(const char* name, T& value) const {
    read(from.at(name), value);
  }

  template <class T>
  static void read(const Json& json, T& value) {
    value = json.get<T>();
  }
  template <class T>
  static void read(const Json& json, std::optional<T>& value) {
    value = json.is_null() ? std::nullopt : std::optional<T>(json.get<T>());
  }
  static void read(const Json& json, Telemetry& value) { members(value, Reader{json}); }
  static void read(const Json& json, std::vector<Round>& rounds) {
    for (const Json& item : json) members(rounds.emplace_back(), Reader{item});
  }
};

Json number(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }
Json number(const std::optional<double>& x) { return x ? number(*x) : Json(nullptr); }

/// What compare.py and people read of a case at `milliseconds` a pass.
Json entry(const BenchCase& item, const BenchContext& context, double milliseconds) {
  const Rates rates = rates_of(item, context, milliseconds);
  const auto percent = [](const std::optional<double>& share) {
    return share ? number(*share * 100.0) : Json(nullptr);
  };
  Json json;
  json["family_index"] = item.index;
  json["per_family_instance_index"] = 0;
  json["run_name"] = item.name;
  json["repetitions"] = item.rounds.size();
  json["threads"] = 1;
  json["real_time"] = number(milliseconds);
  json["cpu_time"] = number(milliseconds);
  json["time_unit"] = "ms";
  json["TFLOPS"] = number(rates.tflops);
  json["TFLOPS_dense"] = number(rates.tflops_dense);
  json["GB/s"] = number(rates.gbytes_per_s);
  json["peak_percent"] = percent(rates.peak);
  json["roofline_percent"] = percent(rates.roofline);
  return json;
}

void add_rounds(Json& list, const BenchCase& item, const BenchContext& context) {
  for (std::size_t i = 0; i < item.rounds.size(); ++i) {
    const Round& round = item.rounds[i];
    Json json = {{"name", item.name}};
    json.update(entry(item, context, time_of(round)));
    json["run_type"] = "iteration";
    json["repetition_index"] = i;
    json["iterations"] = round.batch_ms.empty() ? round.single_ms.size() : round.batch_ms.size();
    json["single_ms"] = number(median(round.single_ms));
    json["graph_ms"] = number(median(round.graph_ms));
    json["clock_mhz"] = number(round.telemetry.clock_mhz);
    list.push_back(std::move(json));
  }
}

void add_aggregates(Json& list, const BenchCase& item, const BenchContext& context) {
  if (item.rounds.size() < 2) return;
  std::vector<double> times;
  for (const Round& round : item.rounds) times.push_back(time_of(round));
  const double mean_time = mean(times);
  const double deviation = standard_deviation(times);
  const auto add = [&](const char* name, Json json, const char* unit) {
    json["name"] = fmt::format("{}_{}", item.name, name);
    json["run_type"] = "aggregate";
    json["aggregate_name"] = name;
    json["aggregate_unit"] = unit;
    json["iterations"] = item.rounds.size();
    list.push_back(std::move(json));
  };
  add("mean", entry(item, context, mean_time), "time");
  add("median", entry(item, context, median(times)), "time");
  for (const auto& [name, value, unit] :
       {std::tuple{"stddev", deviation, "time"}, std::tuple{"cv", deviation / mean_time, "percentage"}}) {
    Json json = entry(item, context, value);
    for (const char* rate : {"TFLOPS", "TFLOPS_dense", "GB/s", "peak_percent", "roofline_percent"})
      json.erase(rate);
    add(name, std::move(json), unit);
  }
}

Json benchmarks_of(const BenchCase& item, const BenchContext& context) {
  Json list = Json::array();
  if (item.error.empty()) {
    add_rounds(list, item, context);
    add_aggregates(list, item, context);
    return list;
  }
  list.push_back({{"name", item.name},
                  {"run_name", item.name},
                  {"run_type", "iteration"},
                  {"error_occurred", true},
                  {"error_message", item.error},
                  {"iterations", 0},
                  {"real_time", 0.0},
                  {"cpu_time", 0.0},
                  {"time_unit", "ms"}});
  return list;
}

std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// The texts that are not empty, each on a line, with commas between.
template <class Text>
std::string lines_of(const std::vector<CaseText>& cases, const Text& text) {
  std::string lines;
  for (const CaseText& one : cases) {
    if (text(one).empty()) continue;
    lines += lines.empty() ? "\n" : ",\n";
    lines += text(one);
  }
  return lines;
}

[[noreturn]] void refuse(const std::string& where, const std::string& what) {
  throw Error(ExitCode::bad_usage, fmt::format("{}: {}", where, what));
}

BenchResults results_of(const Json& json, const std::string& where) {
  const Json& own = json.at("context").at("fmha_bwd");
  const int schema = own.at("schema_version").get<int>();
  if (schema != kResultsSchema) {
    refuse(where, fmt::format("schema_version {}; allowed is {}", schema, kResultsSchema));
  }
  BenchResults results;
  members(results.context, Reader{own});
  for (const Json& item : json.at("cases")) members(results.cases.emplace_back(), Reader{item});
  return results;
}

}  // namespace

CaseText case_text(const BenchCase& item, const BenchContext& context) {
  CaseText text;
  for (const Json& entry : benchmarks_of(item, context)) {
    if (!text.benchmarks.empty()) text.benchmarks += ",\n";
    text.benchmarks += line_of(entry);
  }
  text.item = line_of(Writer::object_of(item));
  return text;
}

std::string results_text(const BenchContext& context, const std::vector<CaseText>& cases) {
  Json own = {{"schema_version", kResultsSchema}};
  own.update(Writer::object_of(context));
  const Json head = {{"date", context.started},         {"host_name", context.host},
                     {"executable", "fmha_bwd"},        {"num_cpus", context.cpus},
                     {"library_build_type", "release"}, {"fmha_bwd", std::move(own)}};
  return fmt::format("{{\n\"context\": {},\n\"benchmarks\": [{}\n],\n\"cases\": [{}\n]\n}}\n",
                     head.dump(1, ' ', false, Json::error_handler_t::replace),
                     lines_of(cases, [](const CaseText& one) { return one.benchmarks; }),
                     lines_of(cases, [](const CaseText& one) { return one.item; }));
}

std::string results_text(const BenchResults& results) {
  std::vector<CaseText> cases;
  for (const BenchCase& item : results.cases) cases.push_back(case_text(item, results.context));
  return results_text(results.context, cases);
}

BenchResults results_from(const std::string& text, const std::string& where) {
  try {
    return results_of(Json::parse(text), where);
  } catch (const Json::exception& error) {
    refuse(where, fmt::format("no results of fmha_bwd bench: {}", error.what()));
  }
}

BenchResults read_results(const std::filesystem::path& path, const std::string& option) {
  const std::string where = fmt::format("{}: '{}'", option, path.string());
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 65536> part = {};
  while (file.read(part.data(), part.size()), file.gcount() > 0) {
    text.append(part.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (!file.is_open() || file.bad())
    refuse(where, "cannot be read: " + std::generic_category().message(errno));
  return results_from(text, where);
}

}  // namespace fmha_bwd
