// exp, tanh and the rounding to narrower types, on vectors.
#if defined(FMHA_BWD_REFERENCE_SIMD_FUNCTIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FMHA_BWD_REFERENCE_SIMD_FUNCTIONS_INL_H_
#undef FMHA_BWD_REFERENCE_SIMD_FUNCTIONS_INL_H_
#else
#define FMHA_BWD_REFERENCE_SIMD_FUNCTIONS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <limits>

#include "base/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace fmha_bwd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// e^x = 2^n e^r with n the integer nearest to x / ln 2, so that |r| <= ln 2 / 2, and
///
///     e^r = 1 + r + r^2 q(r)
///
/// with q the polynomial whose largest relative error of e^r is least (found by Remez's exchange): 3.6e-18 of
/// degree 9, 3.1e-9 of degree 4. ln 2 is subtracted in two parts, the first of so few bits that n times it is
/// exact.
template <typename Real>
struct Exponential;

template <>
struct Exponential<double> {
  static constexpr double kLeast = -708.0;  // exp is 0 below
  static constexpr double kMost = 709.0;    // infinite above
  static constexpr double kToInteger = 0x1.8p52;
  static constexpr double kLn2High = 0x1.62e42fefa0000p-1;
  static constexpr double kLn2Low = 0x1.cf79abc9e3b3ap-40;
  static constexpr int kMantissaBits = 52;
  static constexpr double kQ[] = {0x1.000000000000ap-1,  0x1.55555555554f9p-3,  0x1.555555555083ep-5,
                                  0x1.1111111127d0ep-7,  0x1.6c16c18438b11p-10, 0x1.a01a012a0f35cp-13,
                                  0x1.a01999e26209fp-16, 0x1.71df25b30d420p-19, 0x1.28ad9b8648615p-22,
                                  0x1.ad7f3ee5d2f80p-26};
};

template <>
struct Exponential<float> {
  static constexpr float kLeast = -87.0F;
  static constexpr float kMost = 88.0F;
  static constexpr float kToInteger = 0x1.8p23F;
  static constexpr float kLn2High = 0x1.62e400p-1F;
  static constexpr float kLn2Low = 0x1.7f7d1cp-20F;
  static constexpr int kMantissaBits = 23;
  static constexpr float kQ[] = {0x1.fffffb97a5fddp-2F, 0x1.55549104290d9p-3F, 0x1.5558f2f627353p-5F,
                                 0x1.123a1f4696842p-7F, 0x1.6a23cf4eb56d8p-10F};
};

/// 2^n and p = e^r - 1, for arguments between kLeast and kMost.
template <class D>
struct ExpParts {
  hn::Vec<D> p;
  hn::Vec<D> power;
};

template <class D>
HWY_INLINE ExpParts<D> SplitExp(D d, hn::Vec<D> x) {
  using Real = hn::TFromD<D>;
  using E = Exponential<Real>;
  const hn::RebindToSigned<D> di;
  const auto magic = hn::Set(d, E::kToInteger);
  const auto shifted = hn::MulAdd(x, hn::Set(d, static_cast<Real>(0x1.71547652b82fep0)), magic);
  const auto n = hn::Sub(shifted, magic);
  auto r = hn::NegMulAdd(n, hn::Set(d, E::kLn2High), x);
  r = hn::NegMulAdd(n, hn::Set(d, E::kLn2Low), r);
  constexpr int kDegree = static_cast<int>(sizeof(E::kQ) / sizeof(Real)) - 1;
  auto q = hn::Set(d, E::kQ[kDegree]);
  HWY_UNROLL(10)
  for (int i = kDegree - 1; i >= 0; --i) q = hn::MulAdd(q, r, hn::Set(d, E::kQ[i]));
  // The last bits of `shifted` are n's; the others leave the vector.
  const auto exponent = hn::ShiftLeft<E::kMantissaBits>(hn::BitCast(di, shifted));
  const auto one = hn::BitCast(di, hn::Set(d, Real{1}));
  return {hn::MulAdd(hn::Mul(r, r), q, r), hn::BitCast(d, hn::Add(exponent, one))};
}

/// e^x, at most kExpUlps units in the last place from it between kLeast and kMost (reference/simd/tiles.h);
/// NaN for NaN.
template <class D>
HWY_INLINE hn::Vec<D> Exp(D d, hn::Vec<D> x) {
  using Real = hn::TFromD<D>;
  using E = Exponential<Real>;
  const ExpParts<D> e = SplitExp(d, x);
  const auto infinite = hn::Set(d, std::numeric_limits<Real>::infinity());
  auto result = hn::MulAdd(e.p, e.power, e.power);
  result = hn::IfThenElse(hn::Gt(x, hn::Set(d, E::kMost)), infinite, result);
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, E::kLeast)), result);
}

/// tanh x = m / (m + 2) with m = e^(2x) - 1 = 2^n p + (2^n - 1), in which nothing cancels near 0.
template <class D>
HWY_INLINE hn::Vec<D> Tanh(D d, hn::Vec<D> x) {
  using Real = hn::TFromD<D>;
  const auto limit = hn::Set(d, static_cast<Real>(40));  // where the result is +-1
  const auto twice = hn::Add(x, x);
  const auto size = hn::Abs(twice);
  const ExpParts<D> e = SplitExp(d, hn::IfThenElse(hn::Gt(size, limit), hn::CopySign(limit, twice), twice));
  const auto m = hn::MulAdd(e.power, e.p, hn::Sub(e.power, hn::Set(d, Real{1})));
  return hn::Div(m, hn::Add(m, hn::Set(d, Real{2})));
}

/// The nearest number of the type, ties to even, as round_to of base/dtype.h. Infinity where the number is
/// too large.
template <class D>
HWY_INLINE hn::Vec<D> RoundedToBf16(D d, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1U));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFFU)));
  const auto result = hn::BitCast(d, hn::And(rounded, hn::Set(du, 0xFFFF0000U)));
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

template <class D>
HWY_INLINE hn::Vec<D> RoundedToFp16(D d, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> du;
  const auto size = hn::Abs(x);
  const auto bits = hn::BitCast(du, size);
  const auto odd = hn::And(hn::ShiftRight<13>(bits), hn::Set(du, 1U));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(du, 0xFFFU)));
  const auto normal = hn::BitCast(d, hn::And(rounded, hn::Set(du, 0xFFFFE000U)));
  const auto magic = hn::Set(d, 0.75F);  // its last bit is the subnormals' spacing
  const auto subnormal = hn::Sub(hn::Add(size, magic), magic);
  auto result = hn::IfThenElse(hn::Lt(size, hn::Set(d, 0x1p-14F)), subnormal, normal);
  result = hn::IfThenElse(hn::Lt(result, hn::Set(d, 65536.0F)), result,
                          hn::Set(d, std::numeric_limits<float>::infinity()));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(result, x));
}

HWY_INLINE void RoundAll(DType dtype, float* values, std::int64_t count) {
  const hn::ScalableTag<float> d;
  const auto each = [&](auto rounded) {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) hn::StoreU(rounded(d, hn::LoadU(d, values + i)), d, values + i);
    const hn::CappedTag<float, 1> one;
    for (; i < count; ++i) hn::StoreU(rounded(one, hn::LoadU(one, values + i)), one, values + i);
  };
  switch (dtype) {
    case DType::fp16:
      return each([](auto tag, auto x) { return RoundedToFp16(tag, x); });
    case DType::bf16:
      return each([](auto tag, auto x) { return RoundedToBf16(tag, x); });
    case DType::fp32:
      return;
  }
}
HWY_INLINE void RoundAll(DType, double*, std::int64_t) {}

}  // namespace fmha_bwd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
