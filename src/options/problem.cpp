#include "src/options/problem.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "base/error.h"
#include "src/options/values.h"

namespace fmha_bwd {
namespace {

constexpr std::int64_t kMaxSequences = std::int64_t{1} << 20;  // in group mode, where each has a length
constexpr std::uint64_t kMaxSeed = std::numeric_limits<std::uint64_t>::max();
constexpr std::array<std::string_view, 2> kModes = {"batch", "group"};
constexpr std::array<std::string_view, 3> kDTypes = {"fp16", "bf16", "fp32"};
constexpr std::array<std::string_view, 3> kLayouts = {"bhsd", "bshd", "qkv"};

using Lengths = std::vector<std::int64_t>;

/// One of the four options that give lengths.
struct LengthOption {
  const char* name;
  const Arguments::Value& text;
};

bool is_list(const Arguments::Value& text) { return text && text->find(',') != std::string::npos; }

void set_one_length(Problem& problem, const Arguments& arguments) {
  const auto length = [](const LengthOption& option) {
    if (is_list(option.text)) {
      refuse(option.name, fmt::format("'{}' is a list; allowed in --mode group", *option.text));
    }
    if (*option.text == "0") {
      refuse(option.name, fmt::format("0 is not in 1..{}; it is allowed in --mode group", kMaxExtent));
    }
    return whole_number<std::int64_t>(option.name, *option.text, 1, kMaxExtent);
  };
  if (arguments.seqlen_q) problem.seqlen_q = length({"--seqlen-q", arguments.seqlen_q});
  if (arguments.seqlen_k) problem.seqlen_k = length({"--seqlen-k", arguments.seqlen_k});
  if (arguments.seqlen_q_pad) problem.padded_q = {length({"--seqlen-q-pad", arguments.seqlen_q_pad})};
  if (arguments.seqlen_k_pad) problem.padded_k = {length({"--seqlen-k-pad", arguments.seqlen_k_pad})};
}

/// As many lengths of every kind as there are sequences; one length stands for all.
void set_length_lists(Problem& problem, const Arguments& arguments) {
  const std::array<LengthOption, 4> options = {{{"--seqlen-q", arguments.seqlen_q},
                                                {"--seqlen-k", arguments.seqlen_k},
                                                {"--seqlen-q-pad", arguments.seqlen_q_pad},
                                                {"--seqlen-k-pad", arguments.seqlen_k_pad}}};
  const auto longest = std::find_if(options.begin(), options.end(),
                                    [](const LengthOption& option) { return is_list(option.text); });
  std::size_t sequences = static_cast<std::size_t>(problem.batch);
  if (longest != options.end()) {
    sequences = whole_numbers(longest->name, *longest->text, 0, kMaxExtent).size();
    if (arguments.batch && static_cast<std::size_t>(problem.batch) != sequences) {
      refuse("--batch", fmt::format("{}, but {} has {} lengths; allowed is {}, or no --batch", problem.batch,
                                    longest->name, sequences, sequences));
    }
  }
  if (sequences > static_cast<std::size_t>(kMaxSequences)) {
    refuse("--batch", fmt::format("{} is not in 1..{} in group mode", sequences, kMaxSequences));
  }
  const auto lengths = [&](const LengthOption& option, Lengths otherwise) {
    Lengths list =
        option.text ? whole_numbers(option.name, *option.text, 0, kMaxExtent) : std::move(otherwise);
    if (list.size() == 1) list.resize(sequences, list.front());
    if (!list.empty() && list.size() != sequences) {
      refuse(option.name, fmt::format("{} lengths for the {} of {}; allowed is as many, or one for all",
                                      list.size(), sequences, longest->name));
    }
    return list;
  };
  Lengths seqlens_q = lengths(options[0], {problem.seqlen_q});
  Lengths seqlens_k = lengths(options[1], {problem.seqlen_k});
  problem.padded_q = lengths(options[2], {});
  problem.padded_k = lengths(options[3], {});
  make_grouped(problem, std::move(seqlens_q), std::move(seqlens_k));
}

/// The names of base/problem.h, and those of other tools: n, e (one for all), e:1 (a head), e:2 (full).
BiasShape bias_from(const std::string& text) {
  constexpr std::array<std::string_view, 5> kShort = {"n", "e", "e:0", "e:1", "e:2"};
  constexpr std::array<BiasShape, 5> kShapes = {BiasShape::none, BiasShape::shared, BiasShape::shared,
                                                BiasShape::head, BiasShape::full};
  require_value("--bias", text);
  if (const auto shape = bias_shape_named(text)) return *shape;
  const auto found = std::find(kShort.begin(), kShort.end(), text);
  if (found != kShort.end()) return kShapes.at(static_cast<std::size_t>(found - kShort.begin()));
  refuse("--bias",
         fmt::format("'{}' is not allowed; one of none, shared, head, batch, full; n, e, e:1, e:2", text));
}

void set_scores(Problem& problem, const Arguments& arguments) {
  problem.scale =
      arguments.scale ? finite_number("--scale", *arguments.scale) : default_scale(problem.hdim_q);
  if (arguments.softcap) {
    problem.softcap = finite_number("--softcap", *arguments.softcap);
    if (!(problem.softcap >= 0.0F)) {
      refuse("--softcap", fmt::format("{} is negative; allowed is 0 (none) or more", *arguments.softcap));
    }
  }
  if (arguments.bias) problem.bias = bias_from(*arguments.bias);
  problem.alibi = arguments.alibi.value_or(false);
  problem.sink = arguments.sink.value_or(false);
  if (arguments.dropout) {
    problem.dropout.probability = finite_number("--dropout", *arguments.dropout);
    if (!(problem.dropout.probability >= 0.0F && problem.dropout.probability < 1.0F)) {
      refuse("--dropout", fmt::format("{} is not in [0, 1) as an fp32 number", *arguments.dropout));
    }
  }
  const auto set = [](std::uint64_t& field, const char* option, const Arguments::Value& text) {
    if (text) field = whole_number<std::uint64_t>(option, *text, 0, kMaxSeed);
  };
  set(problem.dropout.seed, "--dropout-seed", arguments.dropout_seed);
  set(problem.dropout.offset, "--dropout-offset", arguments.dropout_offset);
}

}  // namespace

bool is_grouped(const Arguments& arguments) {
  if (arguments.mode) return one_of("--mode", *arguments.mode, kModes) == 1;
  return is_list(arguments.seqlen_q) || is_list(arguments.seqlen_k) || is_list(arguments.seqlen_q_pad) ||
         is_list(arguments.seqlen_k_pad);
}

Problem problem_from(const Arguments& arguments) {
  Problem problem;
  const auto set = [](std::int64_t& field, const char* option, const Arguments::Value& text,
                      std::int64_t most = kMaxExtent) {
    if (text) field = whole_number<std::int64_t>(option, *text, 1, most);
  };
  set(problem.batch, "--batch", arguments.batch);
  set(problem.nhead_q, "--nhead", arguments.nhead);
  problem.nhead_k = problem.nhead_q;
  set(problem.nhead_k, "--nhead-k", arguments.nhead_k);
  set(problem.hdim_q, "--hdim", arguments.hdim, kMaxHeadDim);
  problem.hdim_v = problem.hdim_q;
  set(problem.hdim_v, "--hdim-v", arguments.hdim_v, kMaxHeadDim);
  if (arguments.dtype) {
    problem.dtype = *dtype_named(kDTypes.at(one_of("--dtype", *arguments.dtype, kDTypes)));
  }
  if (arguments.layout) {
    problem.layout = *layout_named(kLayouts.at(one_of("--layout", *arguments.layout, kLayouts)));
  }
  is_grouped(arguments) ? set_length_lists(problem, arguments) : set_one_length(problem, arguments);
  set_scores(problem, arguments);
  problem.deterministic = arguments.deterministic.value_or(false);
  if (const auto complaint = complaint_about(problem)) throw Error(ExitCode::bad_usage, *complaint);
  return problem;
}

}  // namespace fmha_bwd
