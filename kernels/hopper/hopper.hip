#include "kernels/hopper/hopper.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>

#include "base/sequences.h"
#include "kernels/hopper/launch.h"
#include "kernels/mma/mma.h"
#include "kernels/simt/launch.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {
namespace {

// A soft-cap times the error of tanh in fp32 is that of a score. From 1e-6 on P of hidden elements is 0.
constexpr float kMinSoftcap = 1e-6F;
constexpr float kMaxSoftcap = 256.0F;

/// Whether something happens to the scores of a problem that featured_scores.h knows of.
bool is_scored(const Problem& p) { return p.softcap > 0.0F || p.alibi || p.dropout.probability > 0.0F; }

/// Whether the forward is this family's own; mma's computes the others.
bool has_forward(const Problem& p, const MaskRule& mask) {
  return !is_wide(p) && !p.grouped() && !is_scored(p) && Staircase::is_one(mask);
}

/// Why there are no scored variants of a problem that is otherwise taken.
std::optional<std::string> refusal_of_scores(const Problem& p, const MaskRule& mask) {
  if (p.sink || is_wide(p) || p.grouped() || p.deterministic || !Staircase::is_one(mask)) {
    return "with a soft-cap, ALiBi or dropout it takes head dimensions up to 128, one length for all "
           "sequences and masks without a left limit, prefix or documents, and neither sinks nor "
           "deterministic problems";
  }
  if (p.softcap > 0.0F && (p.softcap < kMinSoftcap || p.softcap > kMaxSoftcap)) {
    return "its soft-caps are from 1e-6 to 256";
  }
  if (p.softcap > 0.0F && !std::isfinite(2.0F * p.scale * kLog2E / p.softcap)) {
    return "its scale divided by its soft-cap is not finite";
  }
  return std::nullopt;
}

class HopperFamily final : public Family {
 public:
  std::string_view name() const override { return "hopper"; }

  std::optional<std::string> refusal(const Problem& p, const MaskRule& mask,
                                     std::string_view arch) const override {
    if (arch != "sm_90") return "it needs the architecture sm_90, not " + std::string(arch);
    if (p.dtype == DType::fp32) return "it multiplies fp16 and bf16, not fp32";
    if (p.hdim_q % 8 != 0 || p.hdim_v % 8 != 0 || p.hdim_q > 256 || p.hdim_v > 256) {
      return "its head dimensions are multiples of 8 up to 256";
    }
    if (p.bias != BiasShape::none) return "it has no bias";
    if (is_scored(p)) {
      if (auto reason = refusal_of_scores(p, mask)) return reason;
    }
    if (!std::isfinite(p.scale * kLog2E)) return "its scale times log2 e is not finite";
    // Rows, tiles and the blocks of every launch are counted in 32 bits: 64 rows are 8 blocks at the most.
    const std::int64_t longest = p.seqlen_q > p.seqlen_k ? p.seqlen_q : p.seqlen_k;
    constexpr std::int64_t kMaxInt = std::numeric_limits<std::int32_t>::max();
    if (p.batch * p.nhead_q * (longest / 64 + 2) > kMaxInt / 8 ||
        device_rows_q(p) + device_rows_k(p) >= kMaxInt) {
      return "the problem has more tiles than one launch can cover";
    }
    constexpr std::int64_t kMaxStride = std::int64_t{1} << 39;  // elements: 2^40 bytes
    for (const TensorId id : {TensorId::q, TensorId::k, TensorId::v, TensorId::o}) {
      const Strides strides = place_of(id, p).strides;
      if (std::max({strides.batch, strides.head, strides.row}) >= kMaxStride)
        return "a sequence is larger than the copy engine can address";
    }
    return has_forward(p, mask) ? std::nullopt : mma::family().refusal(p, mask, arch);
  }

  std::size_t dq_acc_bytes(const Problem& p) const override {
    return with_types(p, [&]<class T, int kHeadDim>() {
      return static_cast<std::size_t>(padded_rows<kHeadDim>(p) * Tiling<kHeadDim>::kHdimQ) * sizeof(float);
    });
  }
  std::size_t scratch_bytes(const Problem& p) const override {
    return with_types(p, [&]<class T, int kHeadDim>() {
      return static_cast<std::size_t>(scratch_of<kHeadDim>(p, nullptr).bytes);
    });
  }

  void forward(const Problem& problem, const MaskRule& mask, const DeviceTensors& tensors,
               hipStream_t stream) const override {
    if (has_forward(problem, mask)) {
      launch_forward(problem, mask, tensors, stream);
    } else {
      mma::family().forward(problem, mask, tensors, stream);
    }
  }
  void zero_dq(const Problem& /*problem*/, const DeviceTensors& /*tensors*/,
               hipStream_t /*stream*/) const override {}
  void dot_do_o(const Problem& problem, const MaskRule& mask, const DeviceTensors& tensors,
                hipStream_t stream) const override {
    launch_dot_do_o(problem, mask, tensors, stream);
    if (problem.sink) simt::launch_dsink(problem, tensors, stream);
  }
  void dq_dk_dv(const Problem& problem, const MaskRule& mask, const DeviceTensors& tensors,
                hipStream_t stream) const override {
    (is_scored(problem) ? launch_scored_dq_dk_dv : launch_dq_dk_dv)(problem, mask, tensors, stream);
  }
  void convert_dq(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream) const override {
    launch_convert_dq(problem, tensors, stream);
  }
};

}  // namespace

std::int64_t processors() {
  int device = 0;
  FMHA_BWD_HIP(hipGetDevice(&device));
  const auto ask = [&] {
    int found = 0;
    FMHA_BWD_HIP(hipDeviceGetAttribute(&found, hipDeviceAttributeMultiprocessorCount, device));
    return found;
  };
  static std::array<std::atomic<int>, 64> known = {};
  const auto index = static_cast<std::size_t>(device);
  if (index >= known.size()) return ask();
  if (known[index] == 0) known[index] = ask();
  return known[index];
}

const Family& family() {
  static const HopperFamily hopper;
  return hopper;
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
