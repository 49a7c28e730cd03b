#include "reference/simd/tiles.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reference/simd/tiles.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "reference/simd/key_tile-inl.h"
#include "reference/simd/query_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fmha_bwd::HWY_NAMESPACE {

std::unique_ptr<QueryTile<double>> MakeQueryTile64(const ScoreTerms& terms) {
  return std::make_unique<VectorQueryTile<double>>(terms);
}
std::unique_ptr<QueryTile<float>> MakeQueryTile32(const ScoreTerms& terms) {
  return std::make_unique<VectorQueryTile<float>>(terms);
}
std::unique_ptr<KeyTile<double>> MakeKeyTile64(const ScoreTerms& terms) {
  return std::make_unique<VectorKeyTile<double>>(terms);
}
std::unique_ptr<KeyTile<float>> MakeKeyTile32(const ScoreTerms& terms) {
  return std::make_unique<VectorKeyTile<float>>(terms);
}

std::string Name() { return hwy::TargetName(HWY_TARGET); }
std::int64_t LanesFp64() { return kLanes<double>; }

/// The values of function(D, vector of values).
template <typename Real, typename Function>
std::vector<Real> Each(const std::vector<Real>& values, const Function& function) {
  const Tag<Real> d;
  const auto count = static_cast<std::int64_t>(values.size());
  const std::int64_t whole = divided_up(count, kLanes<Real>) * kLanes<Real>;
  const auto memory = Allocate<Real>(whole);
  std::copy(values.begin(), values.end(), memory.get());
  for (std::int64_t i = 0; i < whole; i += kLanes<Real>) {
    hn::Store(function(d, hn::Load(d, memory.get() + i)), d, memory.get() + i);
  }
  return {memory.get(), memory.get() + count};
}

std::vector<double> Exp64(const std::vector<double>& values) {
  return Each(values, [](auto d, auto x) { return Exp(d, x); });
}
std::vector<float> Exp32(const std::vector<float>& values) {
  return Each(values, [](auto d, auto x) { return Exp(d, x); });
}
std::vector<double> Tanh64(const std::vector<double>& values) {
  return Each(values, [](auto d, auto x) { return Tanh(d, x); });
}
std::vector<float> Tanh32(const std::vector<float>& values) {
  return Each(values, [](auto d, auto x) { return Tanh(d, x); });
}
void RoundOutput(DType dtype, float* values, std::int64_t count) { RoundAll(dtype, values, count); }

}  // namespace fmha_bwd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fmha_bwd {

HWY_EXPORT(MakeQueryTile64);
HWY_EXPORT(MakeQueryTile32);
HWY_EXPORT(MakeKeyTile64);
HWY_EXPORT(MakeKeyTile32);
HWY_EXPORT(Name);
HWY_EXPORT(LanesFp64);
HWY_EXPORT(Exp64);
HWY_EXPORT(Exp32);
HWY_EXPORT(Tanh64);
HWY_EXPORT(Tanh32);
HWY_EXPORT(RoundOutput);

template <>
std::unique_ptr<QueryTile<double>> make_query_tile<double>(const ScoreTerms& terms) {
  return HWY_DYNAMIC_DISPATCH(MakeQueryTile64)(terms);
}
template <>
std::unique_ptr<QueryTile<float>> make_query_tile<float>(const ScoreTerms& terms) {
  return HWY_DYNAMIC_DISPATCH(MakeQueryTile32)(terms);
}
template <>
std::unique_ptr<KeyTile<double>> make_key_tile<double>(const ScoreTerms& terms) {
  return HWY_DYNAMIC_DISPATCH(MakeKeyTile64)(terms);
}
template <>
std::unique_ptr<KeyTile<float>> make_key_tile<float>(const ScoreTerms& terms) {
  return HWY_DYNAMIC_DISPATCH(MakeKeyTile32)(terms);
}

std::string instruction_set() { return HWY_DYNAMIC_DISPATCH(Name)(); }
std::int64_t lanes_fp64() { return HWY_DYNAMIC_DISPATCH(LanesFp64)(); }

std::vector<double> vector_exp(const std::vector<double>& x) { return HWY_DYNAMIC_DISPATCH(Exp64)(x); }
std::vector<float> vector_exp(const std::vector<float>& x) { return HWY_DYNAMIC_DISPATCH(Exp32)(x); }
std::vector<double> vector_tanh(const std::vector<double>& x) { return HWY_DYNAMIC_DISPATCH(Tanh64)(x); }
std::vector<float> vector_tanh(const std::vector<float>& x) { return HWY_DYNAMIC_DISPATCH(Tanh32)(x); }
void round_all(DType dtype, float* values, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(RoundOutput)(dtype, values, count);
}

std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    names.emplace_back(hwy::TargetName(target));
  }
  return names;
}

void use_instruction_set(const std::string& name) {
  hwy::SetSupportedTargetsForTest(0);
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (name == hwy::TargetName(target)) hwy::SetSupportedTargetsForTest(target);
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace fmha_bwd
#endif
