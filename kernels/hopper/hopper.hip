#include "kernels/hopper/hopper.h"

#include <array>
#include <atomic>
#include <cmath>
#include <limits>

#include "base/sequences.h"
#include "kernels/hopper/launch.h"
#include "kernels/mma/mma.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {
namespace {

// A soft-cap times the error of tanh in fp32 is that of a score; and hidden elements are recognised by it.
constexpr float kMinSoftcap = 1e-6F;
constexpr float kMaxSoftcap = 256.0F;

class HopperFamily final : public Family {
 public:
  std::string_view name() const override { return "hopper"; }

  std::optional<std::string> refusal(const Problem& p, const MaskRule& mask,
                                     std::string_view arch) const override {
    if (arch != "sm_90") return "it needs the architecture sm_90, not " + std::string(arch);
    if (p.dtype == DType::fp32) return "it multiplies fp16 and bf16, not fp32";
    if (p.hdim_q != p.hdim_v || (p.hdim_q != 64 && p.hdim_q != 128)) {
      return "its head dimensions are 64 and 128, the same for keys and values";
    }
    if (p.bias != BiasShape::none || p.sink) return "it has no bias and no sinks";
    if (p.softcap > 0.0F && (p.softcap < kMinSoftcap || p.softcap > kMaxSoftcap)) {
      return "its soft-caps are from 1e-6 to 256";
    }
    if (p.softcap > 0.0F && !std::isfinite(2.0F * p.scale * kLog2E / p.softcap)) {
      return "its scale divided by its soft-cap is not finite";
    }
    if (!p.plain_scores()) {
      if (const auto reason = mma::family().refusal(p, mask, arch)) return "its forward is mma's: " + *reason;
    }
    if (mask.left < kUnbounded || mask.prefix > 0 || mask.documents > 0) {
      return "its masks have no left limit, prefix or documents";
    }
    if (p.deterministic) return "its sums of dQ are atomic";
    if (p.grouped() || has_padding(p)) return "its sequences have one length and no padding";
    if (p.layout == Layout::qkv) return "its layouts are bhsd and bshd";
    if (!std::isfinite(p.scale * kLog2E)) return "its scale times log2 e is not finite";
    // Rows, tiles and the blocks of every launch are counted in 32 bits: 64 rows are 4 blocks at the most.
    const std::int64_t longest = p.seqlen_q > p.seqlen_k ? p.seqlen_q : p.seqlen_k;
    if (p.batch * p.nhead_q * (longest / 64 + 2) > std::numeric_limits<std::int32_t>::max() / 8) {
      return "the problem has more tiles than one launch can cover";
    }
    constexpr std::int64_t kMaxStride = std::int64_t{1} << 39;  // elements: 2^40 bytes
    if (p.nhead_q * longest * p.hdim_q >= kMaxStride)
      return "a sequence is larger than the copy engine can address";
    return std::nullopt;
  }

  std::size_t dq_acc_bytes(const Problem& p) const override {
    return with_types(p, [&]<class T, int kHeadDim>() {
      return static_cast<std::size_t>(padded_rows<kHeadDim>(p) * kHeadDim) * sizeof(float);
    });
  }
  std::size_t scratch_bytes(const Problem& p) const override {
    return with_types(p, [&]<class T, int kHeadDim>() {
      return static_cast<std::size_t>(scratch_of<kHeadDim>(p, nullptr).bytes);
    });
  }

  void forward(const Problem& problem, const MaskRule& mask, const DeviceTensors& tensors,
               hipStream_t stream) const override {
    if (!problem.plain_scores()) return mma::family().forward(problem, mask, tensors, stream);
    launch_forward(problem, Staircase(mask, problem.seqlen_q, problem.seqlen_k), tensors, stream);
  }
  void zero_dq(const Problem& /*problem*/, const DeviceTensors& /*tensors*/,
               hipStream_t /*stream*/) const override {}
  void dot_do_o(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream) const override {
    launch_dot_do_o(problem, tensors, stream);
  }
  void dq_dk_dv(const Problem& problem, const MaskRule& mask, const DeviceTensors& tensors,
                hipStream_t stream) const override {
    const Staircase staircase(mask, problem.seqlen_q, problem.seqlen_k);
    (problem.plain_scores() ? launch_plain_dq_dk_dv : launch_scored_dq_dk_dv)(problem, staircase, tensors,
                                                                              stream);
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
