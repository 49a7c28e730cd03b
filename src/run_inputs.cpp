#include "src/run_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/alibi.h"
#include "base/error.h"
#include "src/files/whole_file.h"
#include "src/files/workspace.h"

namespace fmha_bwd {
namespace {

std::int64_t count_infinite(const std::vector<float>& values) {
  return std::count_if(values.begin(), values.end(), [](float x) { return !std::isfinite(x); });
}

/// There is no right answer to inputs that the type cannot hold.
void refuse_infinite(TensorId id, const std::vector<float>& values, const Options& options) {
  const std::int64_t infinite = count_infinite(values);
  if (infinite == 0) return;
  const Fill& fill = options.fill;
  const std::string what =
      fill.kind == FillKind::normal
          ? fmt::format("--std: {}", fill.standard_deviation)
          : fmt::format("--fill: {} with --scale {}", name_of(fill.kind), options.problem.scale);
  const std::string_view dtype = name_of(options.problem.dtype);
  throw Error(ExitCode::bad_usage,
              fmt::format("{} makes {} of {} elements of {} infinite in {}; allowed is what {} can hold",
                          what, infinite, values.size(), name_of(id), dtype, dtype));
}

}  // namespace

RunInputs::RunInputs(const Options& options) : options_(options) {
  if (!options.load) return;
  const Problem& problem = options.problem;
  std::vector<TensorId> ids = inputs_of(problem);
  if (problem.alibi) ids.push_back(TensorId::slopes);
  for (const TensorId id : ids) {
    if (!has_tensor_file(*options.load, id)) continue;
    HostTensor tensor = load_tensor(*options.load, id, problem, "--load");
    if (const std::int64_t infinite = count_infinite(values_of(tensor)); infinite > 0) {
      throw Error(ExitCode::bad_usage,
                  fmt::format("{} has {} elements that are not finite; allowed are finite numbers",
                              place_text("--load", tensor_file(*options.load, id)), infinite));
    }
    loaded_.emplace_back(id, std::move(tensor));
  }
  if (loaded_.empty()) {
    throw Error(
        ExitCode::bad_usage,
        fmt::format("--load: '{}' has none of the problem's inputs (q.npy, k.npy, v.npy, do.npy, ...)",
                    *options.load));
  }
}

void RunInputs::place_in(Session& session) const {
  session.fill_inputs(options_.fill);
  for (const auto& [id, tensor] : loaded_) session.upload(id, tensor);
}

std::uint64_t RunInputs::checksum(Session& session) const {
  Checksum checksum;
  for (const TensorId id : inputs_of(options_.problem)) checksum.add(session.download(id));
  if (options_.problem.alibi) checksum.add(session.download(TensorId::slopes));
  return checksum.value();
}

std::uint64_t RunInputs::check(Session& session, bool for_reference) {
  const Problem& problem = options_.problem;
  Checksum all;
  Checksum on_device;  // of those that were drawn
  Checksum on_cpu;
  for (const TensorId id : inputs_of(problem)) {
    const HostTensor tensor = session.download(id);
    all.add(tensor);
    std::vector<float> values = values_of(tensor);
    if (!is_loaded(id)) refuse_infinite(id, values, options_);
    if (!for_reference) continue;
    if (!is_loaded(id)) {
      on_device.add(tensor);
      on_cpu.add(draw_input(id, problem, options_.fill));
    }
    values_.of(id) = std::move(values);
  }
  if (problem.alibi) {
    const HostTensor slopes = session.download(TensorId::slopes);
    all.add(slopes);
    values_.slopes = is_loaded(TensorId::slopes) ? values_of(slopes) : alibi_slopes(problem.nhead_q);
  }
  if (on_device.value() == on_cpu.value()) return all.value();
  throw Error(ExitCode::wrong_numbers,
              fmt::format("the device drew other inputs than the CPU: checksum {:016x} instead of {:016x}",
                          on_device.value(), on_cpu.value()));
}

std::vector<TensorId> RunInputs::loaded() const {
  std::vector<TensorId> ids;
  for (const auto& entry : loaded_) ids.push_back(entry.first);
  return ids;
}

bool RunInputs::is_loaded(TensorId id) const {
  return std::any_of(loaded_.begin(), loaded_.end(), [id](const auto& entry) { return entry.first == id; });
}

}  // namespace fmha_bwd
