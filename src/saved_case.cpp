#include "src/saved_case.h"

#include <vector>

#include "src/files/case_file.h"
#include "src/files/workspace.h"

namespace fmha_bwd {
namespace {

HostTensor rounded(const std::vector<double>& values, const Shape& shape) {
  return tensor_from(std::vector<float>(values.begin(), values.end()), shape, DType::fp32);
}

}  // namespace

void save_case(const std::string& folder, const Options& options, const MaskSpec& mask, Session& session,
               const Outputs& outputs, const Reference* reference, const std::string& option) {
  const Problem& problem = options.problem;
  remove_saved(folder, option);
  Options of_folder = options;
  of_folder.load.reset();
  of_folder.all_loaded = false;
  of_folder.emulator_stats = false;  // so that a GPU takes the case too
  write_case(folder, reproducing_arguments(of_folder, mask), option);
  std::vector<TensorId> inputs = inputs_of(problem);
  if (problem.alibi) inputs.push_back(TensorId::slopes);
  for (const TensorId id : inputs) save_tensor(folder, id, session.download(id), option);
  if (problem.dropout.probability > 0.0F) save_dropout_mask(folder, problem, option);
  for (const TensorId id : outputs_of(problem)) {
    save_tensor(folder, id, outputs.of(id), option);
    if (reference == nullptr || reference->sample) continue;  // a sample does not fill the tensors
    save_tensor(reference_folder(folder), id, rounded(reference->exact.of(id), shape_of(id, problem)),
                option);
  }
}

}  // namespace fmha_bwd
