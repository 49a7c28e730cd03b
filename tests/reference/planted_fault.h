// What a device might hand over: the textbook's outputs, and one wrong element in them.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "reference/attention.h"
#include "reference/sample.h"
#include "reference/verify.h"

namespace fmha_bwd::testing {

/// A problem, its inputs, and what a sound device makes of them.
class SoundDevice {
 public:
  SoundDevice(const Problem& problem, const MaskSpec& mask)
      : problem_(problem),
        mask_(mask),
        inputs_(draw_inputs(problem, {.standard_deviation = 1.0F})),
        outputs_(textbook_attention(problem, mask, inputs_)) {}

  const Problem& problem() const { return problem_; }
  const AttentionInputs& inputs() const { return inputs_; }
  const std::vector<float>& values(TensorId id) const { return outputs_.of(id); }

  HostTensor output(TensorId id) const { return tensor(id, values(id)); }
  /// With `difference` added to one element.
  HostTensor output_with(TensorId id, std::int64_t element, float difference) const {
    std::vector<float> wrong = values(id);
    wrong[static_cast<std::size_t>(element)] += difference;
    return tensor(id, wrong);
  }
  /// The root mean square of its elements.
  float rms(TensorId id) const {
    double sum = 0.0;
    for (const float x : values(id)) sum += static_cast<double>(x) * static_cast<double>(x);
    return static_cast<float>(std::sqrt(sum / static_cast<double>(values(id).size())));
  }

  Sample sample(std::int64_t rows, std::uint64_t seed) const {
    return choose_sample(problem_, mask_, rows, seed);
  }
  Reference reference(Sample sample) const {
    return sampled_reference(problem_, mask_, inputs_, std::move(sample), {outputs_.lse, outputs_.d});
  }
  Reference whole_reference() const { return reference_for(problem_, mask_, inputs_); }

 private:
  HostTensor tensor(TensorId id, const std::vector<float>& values) const {
    return tensor_from(values, shape_of(id, problem_), dtype_of(id, problem_));
  }

  Problem problem_;
  MaskSpec mask_;
  AttentionInputs inputs_;
  TextbookAttention outputs_;
};

}  // namespace fmha_bwd::testing
