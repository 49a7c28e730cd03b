#include "src/third_opinion.h"

#include <string>

#include "base/error.h"

namespace fmha_bwd {
namespace {

constexpr const char* kKernel = "plain";

Problem in_fp32(Problem problem) {
  problem.dtype = DType::fp32;
  problem.layout = Layout::bhsd;
  problem.padded_q.clear();
  problem.padded_k.clear();
  return problem;
}

}  // namespace

ThirdOpinion::ThirdOpinion(const Problem& problem, const std::vector<MaskSpec>& masks, Backend& backend,
                           const AttentionInputs& inputs)
    : problem_(in_fp32(problem)) {
  for (const MaskSpec& mask : masks) {
    for (const KernelSupport& support : backend.kernels(problem_, mask)) {
      if (support.kernel != kKernel || !support.refusal) continue;
      throw Error(ExitCode::unsupported, std::string("--reference: device: ") + kKernel + " refuses " +
                                             name_of(mask) + ": " + *support.refusal);
    }
  }
  session_ = backend.open(problem_, kKernel);
  AttentionInputs values = inputs;
  std::vector<TensorId> ids = inputs_of(problem_);
  if (problem_.alibi) ids.push_back(TensorId::slopes);
  for (const TensorId id : ids) {
    session_->upload(id, tensor_from(values.of(id), shape_of(id, problem_), DType::fp32));
  }
}

void ThirdOpinion::compare_with(const Outputs& outputs, const Reference& reference, MaskResult& result) {
  session_->poison_outputs();
  session_->forward(result.mask);
  session_->backward(result.mask);
  for (const TensorVerdict& judged : result.verdicts) {
    // A sample of zeros alone says nothing of what the other rows may err.
    if (judged.reference_l2 == 0.0 && judged.compared < judged.elements) continue;
    const std::vector<float> other = values_of(session_->download(judged.id));
    const HostTensor& actual = outputs.of(judged.id);
    result.third_opinion.push_back(reference.sample ? compare(judged.id, actual, other, judged)
                                                    : compare(judged.id, actual, other, reference));
  }
}

}  // namespace fmha_bwd
