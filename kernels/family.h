// A kernel family: one way to compute the forward and the three stages of the backward.
#pragma once

#include <hip/hip_runtime.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/mask.h"
#include "base/problem.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

/// The tensors of one problem on the device, elements of the problem's dtype where void; strides_of says
/// where each element stands. The last two are the family's own, of the sizes that it asks for.
struct DeviceTensors {
  void* q = nullptr;        // [batch, nhead_q, seqlen_q, hdim_q]
  void* k = nullptr;        // [batch, nhead_k, seqlen_k, hdim_q]
  void* v = nullptr;        // [batch, nhead_k, seqlen_k, hdim_v]
  void* d_o = nullptr;      // [batch, nhead_q, seqlen_q, hdim_v]
  void* o = nullptr;        // [batch, nhead_q, seqlen_q, hdim_v]
  float* lse = nullptr;     // [batch, nhead_q, seqlen_q]
  float* d = nullptr;       // [batch, nhead_q, seqlen_q]
  void* dq = nullptr;       // [batch, nhead_q, seqlen_q, hdim_q]
  void* dk = nullptr;       // [batch, nhead_k, seqlen_k, hdim_q]
  void* dv = nullptr;       // [batch, nhead_k, seqlen_k, hdim_v]
  float* dq_acc = nullptr;  // the fp32 accumulator of dQ
  void* scratch = nullptr;  // from one stage to the next
};

/// Every launch goes to `stream` and throws Error (device_error) when it cannot start.
class Family {
 public:
  virtual ~Family() = default;

  virtual std::string_view name() const = 0;
  /// Why this family cannot compute `problem` on a device of architecture `arch`; nothing where it can.
  virtual std::optional<std::string> refusal(const Problem& problem, std::string_view arch) const = 0;

  /// Bytes of dq_acc; 0 where stage 2 adds into dq itself.
  virtual std::size_t dq_acc_bytes(const Problem& problem) const = 0;
  /// Bytes of scratch.
  virtual std::size_t scratch_bytes(const Problem& problem) const = 0;

  /// O and LSE.
  virtual void forward(const Problem& problem, const Mask& mask, const DeviceTensors& tensors,
                       hipStream_t stream) const = 0;
  /// Zeroes what stage 2 adds dQ into, unless stage 1 does.
  virtual void zero_dq(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream) const = 0;
  /// Stage 1: D.
  virtual void dot_do_o(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream) const = 0;
  /// Stage 2: dK, dV, and dQ added into what zero_dq or stage 1 zeroed.
  virtual void dq_dk_dv(const Problem& problem, const Mask& mask, const DeviceTensors& tensors,
                        hipStream_t stream) const = 0;
  /// Stage 3: dQ from dq_acc. Not called where dq_acc has no bytes.
  virtual void convert_dq(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream) const = 0;
};

/// Every family of this platform, the fastest first.
std::span<const Family* const> families();

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
