// The launch of stage 2, of scores with a soft-cap, ALiBi or dropout: variants for each of them alone, and
// one that looks at run time which of them there are.
#include "kernels/hopper/launch_dq_dk_dv.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {
namespace {

unsigned features_of(const Problem& p) {
  return (p.softcap > 0.0F ? kSoftcap : 0U) | (p.alibi ? kAlibi : 0U) |
         (p.dropout.probability > 0.0F ? kDropout : 0U);
}

template <class T, int kHeadDim, unsigned kFeatures>
void launch_with(const Problem& p, const MaskRule& mask, const DeviceTensors& t, hipStream_t stream) {
  const ShareOut share = share_out_of<kHeadDim>(p, mask);
  const ScoredArguments<kHeadDim> arguments = {
      dq_dk_dv_arguments<kHeadDim>(p, t, share),
      p.alibi ? t.slopes : nullptr,
      static_cast<int>(Mask(mask, p.seqlen_q, p.seqlen_k).diagonal()),
      p.softcap > 0.0F ? 2.0F * p.scale * kLog2E / p.softcap : 0.0F,
      2.0F * p.softcap * kLog2E,
      Factors(p).dv,
      TileDraws(dropout_draws(p)),
      p.softcap > 0.0F,
      p.dropout.probability > 0.0F};
  launch_dq_dk_dv_kernel<kHeadDim>(dq_dk_dv_kernel<T, kHeadDim, Staircase, false, kFeatures>, arguments,
                                   stream);
}

}  // namespace

void launch_scored_dq_dk_dv(const Problem& p, const MaskRule& mask, const DeviceTensors& t,
                            hipStream_t stream) {
  with_narrow_types(p, [&]<class T, int kHeadDim>() {
    constexpr unsigned kCapped = kHeadDim == 64 ? kAnyScores : kSoftcap;  // alone it spills at hdim 64
    switch (features_of(p)) {
      case kSoftcap:
        return launch_with<T, kHeadDim, kCapped>(p, mask, t, stream);
      case kAlibi:
        return launch_with<T, kHeadDim, kAlibi>(p, mask, t, stream);
      case kDropout:
        return launch_with<T, kHeadDim, kDropout>(p, mask, t, stream);
      default:
        return launch_with<T, kHeadDim, kAnyScores>(p, mask, t, stream);
    }
  });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
