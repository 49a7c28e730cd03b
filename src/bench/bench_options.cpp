#include "src/bench/bench_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "src/options/cli.h"
#include "src/options/values.h"

namespace fmha_bwd {
namespace {

constexpr std::array<std::string_view, 3> kCacheStates = {"rotate", "flush", "warm"};
constexpr std::string_view kInterleaving = "--benchmark_enable_random_interleaving";
constexpr std::int64_t kMostRounds = 10'000;
constexpr std::int64_t kMostSamples = 1'000'000;

constexpr std::string_view kDescription =
    "Times the backward pass of many problems in rounds, writes every sample to a file, and compares it "
    "with\n"
    "a baseline. Each case is verified before it is timed.\n";

constexpr std::string_view kFooter =
    R"(All other options make the cases: those of a run (see fmha_bwd --help), each with a list or a range where
a run takes one value; all combinations are measured.
  --hdim 64,128  --seqlen 128:8192:*2  --batch 1:8:+1  --dtype fp16,bf16  --mask no_mask,top_left
  --seqlen LIST           --seqlen-q and --seqlen-k alike
  --sink=on,off           a flag both ways
  --mode group            lists of lengths are lists; --seqlen-q '100,37;64,64' are two
  --kernel exact,textbook with --device cpu

Google Benchmark runs the rounds and takes its own options: --benchmark_filter=REGEX,
--benchmark_repetitions=N (as --rounds), --benchmark_enable_random_interleaving=false,
--benchmark_format=console|json|csv, --benchmark_out=FILE ..

Examples:
  fmha_bwd bench --seqlen 512:16384:*2 --hdim 64,128 --dtype bf16 --output sweep.json
  fmha_bwd bench --cases bench/cases/gate.txt --baseline base.json --junit gate.xml
  fmha_bwd bench --cases bench/cases/gate.txt --ab ../base/fmha_bwd
  fmha_bwd bench --cases bench/cases/training.txt --shard 3/8 --output shard3.json --resume

Exit codes: 0 measured (and not slower); 1 a case has wrong numbers; 2 bad usage; 3 nothing ran;
4 slower than the baseline; 5 unclear whether it is; 6 device or runtime error.)";

/// The options as they were given.
struct Texts {
  std::vector<std::string> cases;
  std::optional<std::string> device, cache, rounds, samples, min_time, max_time, warmup_time, shard, output,
      baseline, other;
};

void declare(CLI::App& app, Texts& texts, BenchOptions& options) {
  set_manners(app);
  app.footer(std::string(kFooter));
  const auto add = [&](const char* group, const char* name, const char* type,
                       std::optional<std::string>& value, const char* help) {
    app.add_option(name, value, help)->type_name(type)->group(group);
  };
  constexpr const char* kCases = "Cases";
  app.add_option("--cases", texts.cases,
                 "a file with a sweep on each line, as bench/cases/gate.txt; may be given\n"
                 "several times; options beside it hold for every line")
      ->type_name("FILE")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false)
      ->group(kCases);
  add(kCases, "--device", "NAME", texts.device,
      "as in a run; cpu: the reference on this machine; nvidia:all or amd:all:\nall GPUs of this machine at "
      "a "
      "time [auto]");
  add(kCases, "--shard", "I/N", texts.shard, "only every Nth case, from the Ith on [1/1]");
  app.add_flag("--list", options.list, "print the cases' names, measure nothing")->group(kCases);

  constexpr const char* kSampling = "Sampling";
  add(kSampling, "--cache", "STATE", texts.cache,
      "what a pass finds in the cache: rotate (other tensors), flush (zeros) or\nwarm (its own) [rotate]");
  add(kSampling, "--rounds", "N", texts.rounds, "visits to each case, in random order over all cases [9]");
  add(kSampling, "--samples", "N", texts.samples,
      "so many samples a round, for gates [until they are steady; 30 with --ab on\nthe CPU]");
  add(kSampling, "--min-time", "SECONDS", texts.min_time,
      "device time of a case, over its rounds, at least [0.5]");
  add(kSampling, "--max-time", "SECONDS", texts.max_time, "time of a case's rounds, at most [9]");
  add(kSampling, "--warmup-time", "SECONDS", texts.warmup_time, "passes before each round [0.1]");

  constexpr const char* kResults = "Results";
  add(kResults, "--output", "FILE", texts.output,
      "results as JSON, rewritten after every round; - is stdout");
  app.add_flag("--resume", options.resume, "go on with what --output has")->group(kResults);
  app.add_flag("--quiet", options.quiet, "no table and no progress")->group(kResults);

  constexpr const char* kGate = "Gate";
  add(kGate, "--baseline", "FILE", texts.baseline, "an earlier --output: exit 4 where a case is slower");
  add(kGate, "--ab", "PROGRAM", texts.other,
      "another build of fmha_bwd as the baseline, measured in turn with this\none, round by round");
  declare_gate(app, options.gate);
  app.add_flag("--help,-h", options.help, "this text")->group("Program");
}

double seconds_from(std::string_view option, const std::string& text) {
  if (finite_number(option, text) < 0.0F) refuse(option, fmt::format("{} is not allowed; 0 or more", text));
  return std::stod(text);
}

void set_sampling(BenchOptions& options, const Texts& texts) {
  if (texts.cache) options.cache = static_cast<CacheState>(one_of("--cache", *texts.cache, kCacheStates));
  if (texts.rounds) options.rounds = whole_number<std::int64_t>("--rounds", *texts.rounds, 1, kMostRounds);
  if (texts.samples)
    options.samples = whole_number<std::int64_t>("--samples", *texts.samples, 1, kMostSamples);
  if (texts.min_time) options.min_seconds = seconds_from("--min-time", *texts.min_time);
  if (texts.max_time) options.max_seconds = seconds_from("--max-time", *texts.max_time);
  if (texts.warmup_time) options.warmup_seconds = seconds_from("--warmup-time", *texts.warmup_time);
  if (options.samples && (texts.min_time || texts.max_time)) {
    refuse(texts.min_time ? "--min-time" : "--max-time", "no effect with --samples, a fixed count");
  }
  if (options.max_seconds < options.min_seconds) {
    if (texts.min_time)
      refuse("--min-time",
             fmt::format("{} is more than --max-time {:g}", *texts.min_time, options.max_seconds));
    refuse("--max-time",
           fmt::format("{} is less than --min-time {:g}", *texts.max_time, options.min_seconds));
  }
}

void set_results(BenchOptions& options, const Texts& texts) {
  const auto set = [](std::optional<std::string>& field, const char* option,
                      const std::optional<std::string>& text) {
    if (!text) return;
    require_value(option, *text);
    field = *text;
  };
  set(options.output, "--output", texts.output);
  set(options.baseline, "--baseline", texts.baseline);
  set(options.other_binary, "--ab", texts.other);
  static_cast<void>(compare_settings(options.gate));
  if (options.google_prints && options.output == "-") {
    refuse("--benchmark_format", "goes to stdout, as --output -; allowed with another --output");
  }
  if (options.resume && options.output.value_or("-") == "-") {
    refuse("--resume", "goes on with a file; allowed with --output FILE");
  }
  if (options.resume && options.other_binary) refuse("--resume", "not allowed together with --ab");
  if (options.baseline && options.other_binary) refuse("--baseline", "not allowed together with --ab");
  if (options.baseline || options.other_binary) {
    if (options.output == "-" || options.google_prints) {
      refuse(options.google_prints ? "--benchmark_format" : "--output",
             "the verdicts go to stdout; allowed without --baseline and --ab, or to a file");
    }
    return;
  }
  const GateArguments& gate = options.gate;
  for (const auto& [option, given] :
       {std::pair("--max-slowdown", gate.max_slowdown.has_value()),
        std::pair("--alpha", gate.alpha.has_value()), std::pair("--junit", gate.junit.has_value()),
        std::pair("--markdown", gate.markdown.has_value()), std::pair("--allow-unlike", gate.allow_unlike),
        std::pair("--allow-missing", gate.allow_missing)}) {
    if (given) refuse(option, "nothing is compared; allowed with --baseline or --ab");
  }
}

/// Takes --device out of the lines of case files, where the command line has none.
void take_device(BenchOptions& options) {
  std::optional<std::string> device;
  for (SweepLine& line : options.lines) {
    const std::optional<std::string> own = take_option(line.words, "--device");
    if (!own) continue;
    if (device && *device != *own) {
      throw Error(
          ExitCode::bad_usage,
          fmt::format(
              "{}: --device: '{}' after '{}'; allowed is one device for all lines, or --device on the "
              "command line",
              line.where, *own, *device));
    }
    device = own;
  }
  if (device && options.device == "auto") options.device = *device;
}

constexpr std::int64_t kSamplesInTurn = 30;

/// The command line's words stand behind those of each line of the files, so that they win.
void set_cases(BenchOptions& options, const Texts& texts, const Words& sweep) {
  if (texts.shard) options.shard = shard_from(*texts.shard);
  if (texts.device) {
    require_value("--device", *texts.device);
    options.device = *texts.device;
  }
  for (const std::string& file : texts.cases) {
    for (SweepLine& line : read_sweep(file)) options.lines.push_back(std::move(line));
  }
  if (texts.cases.empty()) options.lines.push_back({});
  take_device(options);
  const bool one = !options.several_devices();
  if (one && !options.on_cpu()) static_cast<void>(device_request(options.device));
  for (SweepLine& line : options.lines) {
    Words given = sweep;  // masks of a run add up
    if (take_option(given, "--mask")) static_cast<void>(take_option(line.words, "--mask"));
    line.words.insert(line.words.end(), sweep.begin(), sweep.end());
    if (one && !options.on_cpu() && options.device != "auto") {
      line.words.insert(line.words.end(), {"--device", options.device});
    }
  }
  if (options.on_cpu() && options.cache != CacheState::rotate) {
    refuse("--cache", "the reference on the CPU takes its inputs as they are; allowed without --device cpu");
  }
  if (options.shard.count > 1 && options.baseline) {
    refuse("--baseline",
           "has the cases of all shards; allowed without --shard, or compare the merged results");
  }
  if (!one || options.other_binary) {
    const char* option = options.google_output ? "--benchmark_out" : "--benchmark_format";
    if (options.google_output || options.google_prints) {
      refuse(option, "has one process's results; allowed on one device, without --ab");
    }
  }
  if (!one && options.other_binary) refuse("--ab", "measures on one device; allowed with one --device");
  if (options.on_cpu() && options.other_binary && !options.samples) {
    // Two processes that take turns stay at the same case only with as many samples on either side.
    if (texts.min_time || texts.max_time) {
      refuse(texts.min_time ? "--min-time" : "--max-time",
             "no effect with --ab on the CPU, which takes a fixed count; allowed is --samples");
    }
    options.samples = kSamplesInTurn;
  }
}

bool starts_any(const Words& words, std::string_view begin) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return word.starts_with(begin); });
}

/// Google Benchmark itself prints its usage and ends with 0 for a value that it does not know.
template <std::size_t N>
void require_one_of(const BenchOptions& options, std::string_view option,
                    const std::array<std::string_view, N>& names) {
  Words words = options.google;
  if (const auto value = take_option(words, option)) static_cast<void>(one_of(option, *value, names));
}

/// What of Google Benchmark's options is this program's own.
void set_google(BenchOptions& options) {
  constexpr std::array<std::string_view, 3> kFormats = {"console", "json", "csv"};
  constexpr std::array<std::string_view, 4> kUnits = {"ns", "us", "ms", "s"};
  require_one_of(options, "--benchmark_format", kFormats);
  require_one_of(options, "--benchmark_out_format", kFormats);
  require_one_of(options, "--benchmark_time_unit", kUnits);
  for (const auto& [option, own] : {std::pair("--benchmark_min_time", "--min-time"),
                                    std::pair("--benchmark_min_warmup_time", "--warmup-time")}) {
    if (take_option(options.google, option)) refuse(option, fmt::format("no effect; allowed is {}", own));
  }
  Words words = options.google;
  options.google_output = take_option(words, "--benchmark_out");
  options.google_prints = take_option(words, "--benchmark_format").has_value();
  if (const auto filter = take_option(options.google, "--benchmark_filter")) options.filter = filter;
  if (const auto rounds = take_option(options.google, "--benchmark_repetitions")) {
    options.rounds = whole_number<std::int64_t>("--benchmark_repetitions", *rounds, 1, kMostRounds);
  }
  if (const auto list = take_option(options.google, "--benchmark_list_tests"))
    options.list = *list != "false";
}

}  // namespace

bool BenchOptions::interleaved() const {
  for (const std::string& word : google) {
    if (word.starts_with(std::string(kInterleaving) + "=")) {
      return word.ends_with("=true") || word.ends_with("=1") || word.ends_with("=yes");
    }
  }
  return true;
}

bool BenchOptions::several_devices() const {
  return device.find(',') != std::string::npos || device.ends_with(":all");
}

std::string_view name_of(CacheState cache) { return kCacheStates.at(static_cast<std::size_t>(cache)); }

SamplerSettings BenchOptions::sampler() const {
  SamplerSettings settings;
  settings.warmup_seconds = warmup_seconds;
  const auto share = static_cast<double>(rounds);
  settings.stopping.min_seconds = min_seconds / share;
  settings.stopping.max_seconds = max_seconds / share;
  if (samples) settings.stopping.fixed_count = static_cast<std::size_t>(*samples);
  return settings;
}

BenchOptions bench_options(const std::vector<std::string>& words) {
  BenchOptions options;
  Texts texts;
  CLI::App app{std::string(kDescription), "fmha_bwd bench"};
  declare(app, texts, options);
  Words sweep = parse_words(app, words);
  options.given = words;
  if (options.help) return options;
  std::erase_if(sweep, [&](const std::string& word) {
    if (!word.starts_with("--benchmark_")) return false;
    options.google.push_back(word);
    return true;
  });
  if (texts.rounds && starts_any(options.google, "--benchmark_repetitions")) {
    refuse("--rounds", "not allowed together with --benchmark_repetitions, which means the same");
  }
  set_google(options);
  set_sampling(options, texts);
  set_results(options, texts);
  set_cases(options, texts, sweep);
  return options;
}

std::string bench_help() {
  CLI::App app{std::string(kDescription), "fmha_bwd bench"};
  BenchOptions options;
  Texts texts;
  declare(app, texts, options);
  return help_of(app);
}

}  // namespace fmha_bwd
