// The device memory of one problem: every tensor, each with a guard zone behind it, and a family's own
// buffers.
#pragma once

#include <hip/hip_runtime.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "base/problem.h"
#include "base/sequences.h"
#include "base/tensor.h"
#include "kernels/family.h"
#include "kernels/hip_check.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

// After each tensor's last byte stands a zone that no kernel may write.
inline constexpr std::size_t kGuardBytes = 4096;
inline constexpr int kGuardPattern = 0xA5;
// Every bit set: a NaN in fp16, bf16 and fp32.
inline constexpr int kPoisonPattern = 0xFF;

/// Bytes of the memory that the tensor owns, padding included; 0 where it owns none.
inline std::size_t bytes_of(TensorId id, const Problem& problem) {
  return static_cast<std::size_t>(storage_elements(id, problem)) * size_of(dtype_of(id, problem));
}

/// Bytes of the table of sequences on the device.
inline std::size_t table_bytes(const Problem& problem) {
  return problem.grouped() ? static_cast<std::size_t>(problem.batch) * sizeof(Sequence) : 0;
}

/// That passes read and write: without the guards.
inline std::size_t touched_bytes(const Problem& problem, const Family& family) {
  std::size_t bytes = family.dq_acc_bytes(problem) + family.scratch_bytes(problem);
  for (const TensorId id : kAllTensors) bytes += owns_memory(problem, id) ? bytes_of(id, problem) : 0;
  return bytes;
}

/// Of a ProblemMemory.
inline std::size_t memory_bytes(const Problem& problem, const Family& family) {
  std::size_t bytes = family.dq_acc_bytes(problem) + family.scratch_bytes(problem) + table_bytes(problem);
  for (const TensorId id : kAllTensors) {
    if (owns_memory(problem, id)) bytes += bytes_of(id, problem) + kGuardBytes;
  }
  return bytes + 2 * kGuardBytes;
}

/// Allocated and poisoned on the selected device, by work on `stream`. Every function throws Error
/// (device_error) when the device reports one.
class ProblemMemory {
 public:
  ProblemMemory(const Problem& problem, const Family& family, hipStream_t stream)
      : problem_(problem),
        dq_acc_bytes_(family.dq_acc_bytes(problem)),
        scratch_bytes_(family.scratch_bytes(problem)) {
    for (const TensorId id : kAllTensors) {
      if (owns_memory(problem, id)) buffers_.emplace(id, allocate(bytes_of(id, problem), stream));
    }
    dq_acc_ = allocate(dq_acc_bytes_, stream);
    scratch_ = allocate(scratch_bytes_, stream);
    upload_sequences();
    tensors_.q = at(TensorId::q);
    tensors_.k = at(TensorId::k);
    tensors_.v = at(TensorId::v);
    tensors_.d_o = at(TensorId::d_o);
    tensors_.o = at(TensorId::o);
    tensors_.lse = static_cast<float*>(at(TensorId::lse));
    tensors_.d = static_cast<float*>(at(TensorId::d));
    tensors_.dq = at(TensorId::dq);
    tensors_.dk = at(TensorId::dk);
    tensors_.dv = at(TensorId::dv);
    tensors_.bias = at(TensorId::bias);
    tensors_.dbias = at(TensorId::dbias);
    tensors_.slopes = static_cast<float*>(at(TensorId::slopes));
    tensors_.sink = static_cast<float*>(at(TensorId::sink));
    tensors_.dsink = static_cast<float*>(at(TensorId::dsink));
    tensors_.sequences = static_cast<const Sequence*>(sequences_.data());
    tensors_.dq_acc = static_cast<float*>(dq_acc_.data());
    tensors_.scratch = scratch_.data();
  }

  const DeviceTensors& tensors() const { return tensors_; }

  /// The address of the tensor's first element; nullptr where the problem does not have it.
  void* at(TensorId id) const {
    if (!has_tensor(problem_, id)) return nullptr;
    const Place place = place_of(id, problem_);
    const auto offset = static_cast<std::size_t>(place.offset) * size_of(dtype_of(id, problem_));
    return static_cast<std::byte*>(buffers_.at(place.storage).data()) + offset;
  }

  /// The bytes of a tensor that owns memory.
  std::vector<std::byte> downloaded(TensorId storage) const {
    std::vector<std::byte> bytes(bytes_of(storage, problem_));
    FMHA_BWD_HIP(hipMemcpy(bytes.data(), buffers_.at(storage).data(), bytes.size(), hipMemcpyDeviceToHost));
    return bytes;
  }
  void upload(TensorId storage, const std::vector<std::byte>& bytes) const {
    FMHA_BWD_HIP(hipMemcpy(buffers_.at(storage).data(), bytes.data(), bytes.size(), hipMemcpyHostToDevice));
  }

  /// Fills what the problem's passes write with NaN.
  void poison_outputs(hipStream_t stream) const {
    for (const TensorId id : outputs_of(problem_)) {
      if (owns_memory(problem_, id)) poison(buffers_.at(id), bytes_of(id, problem_), stream);
    }
    poison(dq_acc_, dq_acc_bytes_, stream);
    poison(scratch_, scratch_bytes_, stream);
  }

  /// All tensors of `other`, a memory of the same problem.
  void copy_from(const ProblemMemory& other, hipStream_t stream) const {
    for (const auto& [id, buffer] : buffers_) {
      FMHA_BWD_HIP(hipMemcpyAsync(buffer.data(), other.buffers_.at(id).data(), bytes_of(id, problem_),
                                  hipMemcpyDeviceToDevice, stream));
    }
  }

  std::vector<TensorId> damaged_guards() const {
    std::vector<TensorId> damaged;
    for (const auto& [id, buffer] : buffers_) {
      if (is_damaged(buffer.data(), bytes_of(id, problem_)) || has_damaged_padding(id)) damaged.push_back(id);
    }
    if (is_damaged(dq_acc_.data(), dq_acc_bytes_) || is_damaged(scratch_.data(), scratch_bytes_)) {
      damaged.push_back(TensorId::dq);
    }
    return damaged;
  }

 private:
  void upload_sequences() {
    if (!problem_.grouped()) return;
    const std::vector<Sequence> table = sequences_of(problem_);
    sequences_ = DeviceBuffer(table_bytes(problem_));
    FMHA_BWD_HIP(hipMemcpy(sequences_.data(), table.data(), table_bytes(problem_), hipMemcpyHostToDevice));
  }

  static void poison(const DeviceBuffer& buffer, std::size_t bytes, hipStream_t stream) {
    FMHA_BWD_HIP(hipMemsetAsync(buffer.data(), kPoisonPattern, bytes, stream));
  }

  static DeviceBuffer allocate(std::size_t bytes, hipStream_t stream) {
    DeviceBuffer buffer(bytes + kGuardBytes);
    poison(buffer, bytes, stream);
    FMHA_BWD_HIP(
        hipMemsetAsync(static_cast<std::byte*>(buffer.data()) + bytes, kGuardPattern, kGuardBytes, stream));
    return buffer;
  }

  /// Whether a byte that belongs to no tensor's rows is no longer poisoned.
  bool has_damaged_padding(TensorId storage) const {
    if (!has_padding(problem_)) return false;
    std::vector<std::byte> bytes = downloaded(storage);
    for (const TensorId id : kAllTensors) {
      if (!has_tensor(problem_, id) || place_of(id, problem_).storage != storage) continue;
      HostTensor blank = tensor_from_device(bytes, id, problem_);
      std::fill(blank.bytes.begin(), blank.bytes.end(), std::byte{kPoisonPattern});
      tensor_to_device(blank, id, problem_, bytes);
    }
    return std::any_of(bytes.begin(), bytes.end(),
                       [](std::byte x) { return x != std::byte{kPoisonPattern}; });
  }

  static bool is_damaged(const void* tensor, std::size_t bytes) {
    std::array<unsigned char, kGuardBytes> guard = {};
    FMHA_BWD_HIP(hipMemcpy(guard.data(), static_cast<const std::byte*>(tensor) + bytes, kGuardBytes,
                           hipMemcpyDeviceToHost));
    return std::any_of(guard.begin(), guard.end(), [](unsigned char byte) { return byte != kGuardPattern; });
  }

  Problem problem_;
  std::size_t dq_acc_bytes_;
  std::size_t scratch_bytes_;
  std::map<TensorId, DeviceBuffer> buffers_;
  DeviceBuffer dq_acc_;
  DeviceBuffer scratch_;
  DeviceBuffer sequences_;
  DeviceTensors tensors_;
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
