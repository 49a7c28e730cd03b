// A kernel family: one way to compute the forward and the three stages of the backward.
#pragma once

#include <hip/hip_runtime.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/mask.h"
#include "base/problem.h"
#include "base/sequences.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

/// The tensors of one problem on the device, elements of the problem's dtype where void; each pointer is the
/// address of the tensor's own first element, and place_of says where the others stand. Those that the
/// problem does not have are nullptr. The last two are the family's own, of the sizes that it asks for.
struct DeviceTensors {
  void* q = nullptr;                    // [batch, nhead_q, seqlen_q, hdim_q]
  void* k = nullptr;                    // [batch, nhead_k, seqlen_k, hdim_q]
  void* v = nullptr;                    // [batch, nhead_k, seqlen_k, hdim_v]
  void* d_o = nullptr;                  // [batch, nhead_q, seqlen_q, hdim_v]
  void* o = nullptr;                    // [batch, nhead_q, seqlen_q, hdim_v]
  float* lse = nullptr;                 // [batch, nhead_q, seqlen_q]
  float* d = nullptr;                   // [batch, nhead_q, seqlen_q]
  void* dq = nullptr;                   // [batch, nhead_q, seqlen_q, hdim_q]
  void* dk = nullptr;                   // [batch, nhead_k, seqlen_k, hdim_q]
  void* dv = nullptr;                   // [batch, nhead_k, seqlen_k, hdim_v]
  void* bias = nullptr;                 // [1 or batch, 1 or nhead_q, seqlen_q, seqlen_k]
  void* dbias = nullptr;                // as bias
  float* slopes = nullptr;              // [nhead_q]
  float* sink = nullptr;                // [nhead_q]
  float* dsink = nullptr;               // [nhead_q]
  const Sequence* sequences = nullptr;  // [batch], in group mode
  float* dq_acc = nullptr;              // the fp32 accumulator of dQ
  void* scratch = nullptr;              // from one stage to the next
};

/// Every launch goes to `stream` and throws Error (device_error) when it cannot start. The document_ends of
/// masks are device addresses, but for refusal's.
class Family {
 public:
  virtual ~Family() = default;

  virtual std::string_view name() const = 0;
  /// Why this family cannot compute `problem` under `mask` on a device of architecture `arch`; nothing where
  /// it can.
  virtual std::optional<std::string> refusal(const Problem& problem, const MaskRule& mask,
                                             std::string_view arch) const = 0;

  /// Bytes of dq_acc; 0 where stage 2 writes dq itself.
  virtual std::size_t dq_acc_bytes(const Problem& problem) const = 0;
  /// Bytes of scratch.
  virtual std::size_t scratch_bytes(const Problem& problem) const = 0;

  /// O and LSE.
  virtual void forward(const Problem& problem, const MaskRule& mask, const DeviceTensors& tensors,
                       hipStream_t stream) const = 0;
  /// Zeroes what stage 2 adds dQ into, unless stage 1 does.
  virtual void zero_dq(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream) const = 0;
  /// Stage 1: D, dSink, and what stage 2 wants prepared. A family may leave D to stage 2.
  virtual void dot_do_o(const Problem& problem, const MaskRule& mask, const DeviceTensors& tensors,
                        hipStream_t stream) const = 0;
  /// Stage 2: dK, dV, dBias, and dQ added into what zero_dq or stage 1 zeroed.
  virtual void dq_dk_dv(const Problem& problem, const MaskRule& mask, const DeviceTensors& tensors,
                        hipStream_t stream) const = 0;
  /// Stage 3: dQ from dq_acc, unless stage 2 has done it. Not called where dq_acc has no bytes.
  virtual void convert_dq(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream) const = 0;
};

/// Every family of this platform, the fastest first.
std::span<const Family* const> families();

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
