#include "src/bench/case_of.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/work.h"

namespace fmha_bwd {
namespace {

// Told by the name's first parts, or nothing that makes another case.
constexpr std::array<std::string_view, 13> kNotExtra = {
    "--mask",   "--batch", "--nhead",  "--nhead-k", "--seqlen-q",  "--seqlen-k", "--hdim",
    "--hdim-v", "--dtype", "--device", "--verify",  "--reference", "--warmup"};

std::string pair_text(std::string_view letter, std::string_view first, std::string_view second) {
  return first == second ? fmt::format("{}{}", letter, first) : fmt::format("{}{}:{}", letter, first, second);
}

std::string lengths_text(std::int64_t length, const std::vector<std::int64_t>& list) {
  return list.empty() ? fmt::format("{}", length) : fmt::format("{}", fmt::join(list, ","));
}

/// "dropout:0.1/deterministic".
std::string extras_of(const Options& options) {
  const std::vector<std::string> words = reproducing_arguments(options, options.masks.front());
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool has_value = i + 1 < words.size() && !words[i + 1].starts_with("--");
    const std::size_t at = i;
    if (has_value) ++i;
    if (std::find(kNotExtra.begin(), kNotExtra.end(), words[at]) != kNotExtra.end()) continue;
    if (!text.empty()) text += "/";
    text += words[at].substr(2);
    if (has_value) text += ":" + words[i];
  }
  return text;
}

std::string fill_text(const Fill& fill) {
  std::string text(name_of(fill.kind));
  if (fill.kind == FillKind::normal) text += fmt::format(" std={}", fill.standard_deviation);
  if (fill.d_o_is_one) text += " dO=1";
  return text + fmt::format(" seed={}", fill.seed);
}

/// Each input of the backward pass read once, each gradient written once.
double least_bytes(const Problem& problem) {
  std::vector<TensorId> moved = inputs_of(problem);
  for (const TensorId id : {TensorId::o, TensorId::lse}) moved.push_back(id);
  for (const TensorId id : gradients_of(problem)) moved.push_back(id);
  double bytes = 0.0;
  for (const TensorId id : moved) {
    bytes += static_cast<double>(shape_of(id, problem).elements()) *
             static_cast<double>(size_of(dtype_of(id, problem)));
  }
  return bytes;
}

/// The reference computes the forward pass too.
double flops_of(Operation operation, const Problem& problem, std::int64_t pairs) {
  const double backward = backward_flops(problem, pairs);
  return operation == Operation::backward ? backward : backward + forward_flops(problem, pairs);
}

std::string arithmetic_of(Operation operation, const Problem& problem) {
  return operation == Operation::exact_reference ? "fp64" : std::string(name_of(problem.dtype));
}

std::string name_of_case(Operation operation, const Problem& problem, const BenchCase& item) {
  std::string name = operation == Operation::backward ? "" : "reference/";
  name += fmt::format("{}/{}/B{}", item.mask, item.dtype, problem.batch);
  name += "/" + pair_text("H", fmt::format("{}", problem.nhead_q), fmt::format("{}", problem.nhead_k));
  name += "/" + pair_text("S", lengths_text(problem.seqlen_q, problem.seqlens_q),
                          lengths_text(problem.seqlen_k, problem.seqlens_k));
  name += "/" + pair_text("D", fmt::format("{}", problem.hdim_q), fmt::format("{}", problem.hdim_v));
  if (operation == Operation::textbook_reference) name += "/textbook";
  return item.extras.empty() ? name : name + "/" + item.extras;
}

/// The command of `bench` that has this case alone.
std::string command_of(Operation operation, const Options& options) {
  std::string command = reproducing_command(options, options.masks.front());
  command.insert(std::string_view("fmha_bwd").size(), " bench");
  if (operation != Operation::backward) command += " --device cpu";
  if (operation == Operation::textbook_reference) command += " --kernel textbook";
  return command;
}

}  // namespace

BenchCase case_of(Operation operation, const Options& options) {
  const Problem& problem = options.problem;
  const MaskSpec& mask = options.masks.front();
  const MaskCounts counts = count(mask.rule(), problem);
  BenchCase item;
  item.operation = operation == Operation::backward ? "backward" : "reference";
  item.mask = name_of(mask);
  item.dtype = arithmetic_of(operation, problem);
  item.layout = name_of(problem.layout);
  item.batch = problem.batch;
  item.nhead_q = problem.nhead_q;
  item.nhead_k = problem.nhead_k;
  item.seqlen_q = problem.seqlen_q;
  item.seqlen_k = problem.seqlen_k;
  item.seqlens_q = problem.seqlens_q;
  item.seqlens_k = problem.seqlens_k;
  item.hdim_q = problem.hdim_q;
  item.hdim_v = problem.hdim_v;
  item.extras = extras_of(options);
  // Its arithmetic is fp64; the type is that of its inputs.
  if (operation == Operation::exact_reference && problem.dtype != Problem().dtype) {
    item.extras += fmt::format("{}dtype:{}", item.extras.empty() ? "" : "/", name_of(problem.dtype));
  }
  item.fill = fill_text(options.fill);
  item.all_pairs = counts.all_pairs;
  item.visible_pairs = counts.visible_pairs;
  item.flops = flops_of(operation, problem, counts.visible_pairs);
  item.flops_dense = flops_of(operation, problem, counts.all_pairs);
  item.bytes = least_bytes(problem);
  item.name = name_of_case(operation, problem, item);
  item.command = command_of(operation, options);
  return item;
}

}  // namespace fmha_bwd
