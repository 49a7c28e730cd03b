#include "src/options/loaded.h"

#include <array>
#include <filesystem>

#include "base/error.h"
#include "src/files/case_file.h"
#include "src/files/whole_file.h"
#include "src/files/workspace.h"
#include "src/options/problem.h"
#include "src/options/values.h"

namespace fmha_bwd {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kNotInACase = {"--load", "--random", "--output", "--save", "--save-on-failure",
                                              "--help", "--version"};

/// The arguments of the folder's case file.
Arguments case_arguments(const fs::path& folder) {
  const std::string where = place_text("--load", case_file(folder));
  const std::vector<std::string> words = read_case(folder, "--load");
  Arguments arguments;
  try {
    read_arguments(words, arguments);
  } catch (const Error& error) {
    refuse(where, error.what());
  }
  if (arguments.extra) {
    refuse(where,
           fmt::format("'{}' is neither an option nor an option's value; see --help", *arguments.extra));
  }
  for (const std::string& name : arguments.given) {
    if (contains(kNotInACase, name)) refuse(where, name + " is not allowed in a case file");
  }
  arguments.in_case = arguments.given;
  return arguments;
}

/// A file that the case was not made for, and that no option asks for, is there by mistake.
void refuse_unused_files(const fs::path& folder, const Arguments& arguments) {
  struct Feature {
    TensorId id;
    bool decided;
    const char* name;
    const char* options;
  };
  const std::array<Feature, 3> features = {
      {{TensorId::slopes, arguments.alibi.has_value(), "ALiBi", "--alibi or --no-alibi"},
       {TensorId::sink, arguments.sink.has_value(), "sinks", "--sink or --no-sink"},
       {TensorId::bias, arguments.bias.has_value(), "bias", "--bias SHAPE or --bias none"}}};
  for (const Feature& feature : features) {
    if (feature.decided || !has_tensor_file(folder, feature.id)) continue;
    refuse("--load", fmt::format("'{}' is there, but the problem has no {}; allowed with {}",
                                 tensor_file(folder, feature.id).string(), feature.name, feature.options));
  }
}

/// What the folder's tensors say of shape and type, where no argument does.
void infer_shape(const fs::path& folder, Arguments& arguments) {
  const auto infer = [&](std::optional<bool>& feature, TensorId id) {
    if (!feature && has_tensor_file(folder, id)) feature = true;
  };
  infer(arguments.alibi, TensorId::slopes);
  infer(arguments.sink, TensorId::sink);
  if (!has_shape_files(folder)) return;
  const LoadedShape shape = loaded_shape(folder, "--load");
  const auto set = [](Arguments::Value& value, std::int64_t loaded) {
    if (!value) value = std::to_string(loaded);
  };
  set(arguments.nhead, shape.nhead_q);
  set(arguments.nhead_k, shape.nhead_k);
  set(arguments.hdim, shape.hdim_q);
  set(arguments.hdim_v, shape.hdim_v);
  if (!arguments.dtype) arguments.dtype = std::string(name_of(shape.dtype));
  if (is_grouped(arguments)) {
    if (arguments.seqlen_q && arguments.seqlen_k) return;
    refuse("--load", fmt::format("'{}' does not say how long each sequence of group mode is; allowed with "
                                 "--seqlen-q and --seqlen-k",
                                 folder.string()));
  }
  set(arguments.batch, shape.batch);
  set(arguments.seqlen_q, shape.seqlen_q);
  set(arguments.seqlen_k, shape.seqlen_k);
}

}  // namespace

Arguments arguments_of(const std::vector<std::string>& words) {
  Arguments arguments;
  read_arguments(words, arguments);
  if (arguments.help || arguments.version || !arguments.load) return arguments;
  require_value("--load", *arguments.load);
  const fs::path folder = *arguments.load;
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    refuse("--load", fmt::format("'{}' is not a folder", folder.string()));
  }
  if (has_case(folder)) {
    arguments = case_arguments(folder);
    read_arguments(words, arguments);
    refuse_unused_files(folder, arguments);
  } else {
    infer_shape(folder, arguments);
  }
  return arguments;
}

}  // namespace fmha_bwd
