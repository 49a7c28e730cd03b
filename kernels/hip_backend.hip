// Backend and Session on top of the HIP runtime, the same for every platform.
#include "kernels/hip_backend.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "base/alibi.h"
#include "base/sequences.h"
#include "kernels/device_arch.h"
#include "kernels/family.h"
#include "kernels/fill.h"
#include "kernels/hip_check.h"

#define FMHA_BWD_TEXT_OF(name) #name
#define FMHA_BWD_TEXT(name) FMHA_BWD_TEXT_OF(name)

namespace fmha_bwd::FMHA_BWD_PLATFORM {
namespace {

constexpr const char* kPlatform = FMHA_BWD_TEXT(FMHA_BWD_PLATFORM);
// After each tensor's last byte stands a zone that no kernel may write.
constexpr std::size_t kGuardBytes = 4096;
constexpr int kGuardPattern = 0xA5;
// Every bit set: a NaN in fp16, bf16 and fp32.
constexpr int kPoisonPattern = 0xFF;

/// Bytes of the memory that the tensor owns, padding included; 0 where it owns none.
std::size_t bytes_of(TensorId id, const Problem& problem) {
  return static_cast<std::size_t>(storage_elements(id, problem)) * size_of(dtype_of(id, problem));
}

/// Bytes of the table of sequences on the device.
std::size_t table_bytes(const Problem& problem) {
  return problem.grouped() ? static_cast<std::size_t>(problem.batch) * sizeof(Sequence) : 0;
}

std::size_t session_bytes(const Problem& problem, const Family& family) {
  std::size_t bytes = family.dq_acc_bytes(problem) + family.scratch_bytes(problem) + table_bytes(problem);
  for (const TensorId id : kAllTensors) {
    if (owns_memory(problem, id)) bytes += bytes_of(id, problem) + kGuardBytes;
  }
  return bytes + 2 * kGuardBytes;
}

/// The owners of the outputs' memory.
std::vector<TensorId> output_storages(const Problem& problem) {
  std::vector<TensorId> storages = outputs_of(problem);
  std::erase_if(storages, [&](TensorId id) { return !owns_memory(problem, id); });
  return storages;
}

Device describe(int index) {
  hipDeviceProp_t properties = {};
  FMHA_BWD_HIP(hipGetDeviceProperties(&properties, index));
  Device device;
  device.platform = kPlatform;
  device.index = index;
  device.name = properties.name;
  device.arch = arch_of(properties);
  device.emulated = std::string_view(kPlatform) == "emulator";
  return device;
}

class HipSession final : public Session {
 public:
  HipSession(const Problem& problem, const Family& family, int device)
      : problem_(problem), family_(family), device_(device) {
    select();
    for (const TensorId id : kAllTensors) {
      if (owns_memory(problem, id)) buffers_.emplace(id, allocate(bytes_of(id, problem)));
    }
    dq_acc_ = allocate(family.dq_acc_bytes(problem));
    scratch_ = allocate(family.scratch_bytes(problem));
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
    stream_.synchronize();
  }

  void fill_inputs(const Fill& fill) override {
    select();
    for (const TensorId id : inputs_of(problem_)) {
      launch_fill(at(id), id, problem_, fill, tensors_.sequences, stream_);
    }
    stream_.synchronize();
    if (!problem_.alibi) return;
    upload(TensorId::slopes,
           tensor_from(alibi_slopes(problem_.nhead_q), shape_of(TensorId::slopes, problem_), DType::fp32));
  }

  void upload(TensorId id, const HostTensor& tensor) override {
    select();
    const TensorId storage = place_of(id, problem_).storage;
    std::vector<std::byte> bytes = downloaded(storage);
    tensor_to_device(tensor, id, problem_, bytes);
    FMHA_BWD_HIP(hipMemcpy(buffers_.at(storage).data(), bytes.data(), bytes.size(), hipMemcpyHostToDevice));
  }

  void poison_outputs() override {
    select();
    for (const TensorId id : output_storages(problem_)) poison(buffers_.at(id), bytes_of(id, problem_));
    poison(dq_acc_, family_.dq_acc_bytes(problem_));
    poison(scratch_, family_.scratch_bytes(problem_));
    stream_.synchronize();
  }

  void forward(const MaskSpec& mask) override {
    select();
    const MaskRule rule = rule_on_device(mask);
    family_.forward(problem_, rule, tensors_, stream_);
    stream_.synchronize();
  }

  BackwardTimes backward(const MaskSpec& mask) override {
    select();
    const MaskRule rule = rule_on_device(mask);
    start_.record(stream_);
    family_.zero_dq(problem_, tensors_, stream_);
    zeroed_.record(stream_);
    family_.dot_do_o(problem_, tensors_, stream_);
    dotted_.record(stream_);
    family_.dq_dk_dv(problem_, rule, tensors_, stream_);
    differentiated_.record(stream_);
    const bool converts = family_.dq_acc_bytes(problem_) > 0;
    if (converts) family_.convert_dq(problem_, tensors_, stream_);
    converted_.record(stream_);
    stream_.synchronize();
    BackwardTimes times;
    times.zero_dq = zeroed_.since(start_);
    times.dot_do_o = dotted_.since(zeroed_);
    times.dq_dk_dv = differentiated_.since(dotted_);
    times.convert_dq = converts ? converted_.since(differentiated_) : 0.0;
    times.total = converted_.since(start_);
    return times;
  }

  HostTensor download(TensorId id) override {
    select();
    return tensor_from_device(downloaded(place_of(id, problem_).storage), id, problem_);
  }

  std::vector<TensorId> damaged_guards() override {
    select();
    std::vector<TensorId> damaged;
    for (const auto& [id, buffer] : buffers_) {
      if (is_damaged(buffer.data(), bytes_of(id, problem_)) || has_damaged_padding(id)) damaged.push_back(id);
    }
    if (is_damaged(dq_acc_.data(), family_.dq_acc_bytes(problem_)) ||
        is_damaged(scratch_.data(), family_.scratch_bytes(problem_))) {
      damaged.push_back(TensorId::dq);
    }
    return damaged;
  }

 private:
  void select() const { FMHA_BWD_HIP(hipSetDevice(device_)); }

  /// The address of the tensor's first element; nullptr where the problem does not have it.
  void* at(TensorId id) const {
    if (!has_tensor(problem_, id)) return nullptr;
    const Place place = place_of(id, problem_);
    const auto offset = static_cast<std::size_t>(place.offset) * size_of(dtype_of(id, problem_));
    return static_cast<std::byte*>(buffers_.at(place.storage).data()) + offset;
  }

  std::vector<std::byte> downloaded(TensorId storage) const {
    std::vector<std::byte> bytes(bytes_of(storage, problem_));
    FMHA_BWD_HIP(hipMemcpy(bytes.data(), buffers_.at(storage).data(), bytes.size(), hipMemcpyDeviceToHost));
    return bytes;
  }

  void upload_sequences() {
    if (!problem_.grouped()) return;
    const std::vector<Sequence> table = sequences_of(problem_);
    sequences_ = DeviceBuffer(table_bytes(problem_));
    FMHA_BWD_HIP(hipMemcpy(sequences_.data(), table.data(), table_bytes(problem_), hipMemcpyHostToDevice));
  }

  /// The mask's rule, with its documents on the device.
  MaskRule rule_on_device(const MaskSpec& mask) {
    MaskRule rule = mask.rule();
    if (rule.documents == 0) return rule;
    if (mask.document_ends != documents_on_device_) {
      const std::size_t bytes = mask.document_ends.size() * sizeof(std::int64_t);
      documents_ = DeviceBuffer(bytes);
      FMHA_BWD_HIP(hipMemcpy(documents_.data(), rule.document_ends, bytes, hipMemcpyHostToDevice));
      documents_on_device_ = mask.document_ends;
    }
    rule.document_ends = static_cast<const std::int64_t*>(documents_.data());
    return rule;
  }

  void poison(const DeviceBuffer& buffer, std::size_t bytes) const {
    FMHA_BWD_HIP(hipMemsetAsync(buffer.data(), kPoisonPattern, bytes, stream_));
  }

  DeviceBuffer allocate(std::size_t bytes) const {
    DeviceBuffer buffer(bytes + kGuardBytes);
    poison(buffer, bytes);
    FMHA_BWD_HIP(
        hipMemsetAsync(static_cast<std::byte*>(buffer.data()) + bytes, kGuardPattern, kGuardBytes, stream_));
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
    for (const unsigned char byte : guard) {
      if (byte != kGuardPattern) return true;
    }
    return false;
  }

  Problem problem_;
  const Family& family_;
  int device_;
  Stream stream_;
  Event start_;
  Event zeroed_;
  Event dotted_;
  Event differentiated_;
  Event converted_;
  std::map<TensorId, DeviceBuffer> buffers_;
  DeviceBuffer dq_acc_;
  DeviceBuffer scratch_;
  DeviceBuffer sequences_;
  DeviceBuffer documents_;
  std::vector<std::int64_t> documents_on_device_;
  DeviceTensors tensors_;
};

class HipBackend final : public Backend {
 public:
  explicit HipBackend(int index) : device_(describe(index)) {}

  const Device& device() const override { return device_; }

  std::vector<KernelSupport> kernels(const Problem& problem, const MaskSpec& mask) const override {
    std::vector<KernelSupport> all;
    for (const Family* family : families()) {
      all.push_back({std::string(family->name()), family->refusal(problem, mask.rule(), device_.arch)});
    }
    return all;
  }

  std::unique_ptr<Session> open(const Problem& problem, std::string_view kernel) override {
    for (const Family* family : families()) {
      if (family->name() != kernel) continue;
      FMHA_BWD_HIP(hipSetDevice(device_.index));
      const std::size_t needed = session_bytes(problem, *family);
      const MemoryState memory = memory_state();
      if (needed > memory.free) throw out_of_memory("the problem on " + device_.name, needed, memory);
      return std::make_unique<HipSession>(problem, *family, device_.index);
    }
    throw Error(ExitCode::unsupported,
                "no kernel named '" + std::string(kernel) + "' on " + device_.platform);
  }

 private:
  Device device_;
};

}  // namespace

std::vector<Device> devices(std::string& absence) {
  int count = 0;
  const hipError_t status = hipGetDeviceCount(&count);
  if (status != hipSuccess || count == 0) {
    static_cast<void>(hipGetLastError());
    absence = status == hipSuccess ? "no device" : hipGetErrorString(status);
    return {};
  }
  std::vector<Device> found;
  for (int index = 0; index < count; ++index) found.push_back(describe(index));
  return found;
}

std::unique_ptr<Backend> open_backend(int index) { return std::make_unique<HipBackend>(index); }

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
