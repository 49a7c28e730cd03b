// Backend and Session on top of the HIP runtime, the same for every platform.
#include "kernels/hip_backend.h"

#include <array>
#include <map>
#include <string>

#include "kernels/device_arch.h"
#include "kernels/family.h"
#include "kernels/fill.h"
#include "kernels/hip_check.h"

#define FMHA_BWD_TEXT_OF(name) #name
#define FMHA_BWD_TEXT(name) FMHA_BWD_TEXT_OF(name)

namespace fmha_bwd::FMHA_BWD_PLATFORM {
namespace {

constexpr const char* kPlatform = FMHA_BWD_TEXT(FMHA_BWD_PLATFORM);
constexpr std::array<TensorId, 10> kTensors = {TensorId::q,  TensorId::k,   TensorId::v, TensorId::d_o,
                                               TensorId::o,  TensorId::lse, TensorId::d, TensorId::dq,
                                               TensorId::dk, TensorId::dv};
// After each tensor's last byte stands a zone that no kernel may write.
constexpr std::size_t kGuardBytes = 4096;
constexpr int kGuardPattern = 0xA5;
// Every bit set: a NaN in fp16, bf16 and fp32.
constexpr int kPoisonPattern = 0xFF;

std::size_t bytes_of(TensorId id, const Problem& problem) {
  return static_cast<std::size_t>(shape_of(id, problem).elements()) * size_of(dtype_of(id, problem));
}

std::size_t session_bytes(const Problem& problem, const Family& family) {
  std::size_t bytes = family.dq_acc_bytes(problem) + family.scratch_bytes(problem) + 2 * kGuardBytes;
  for (const TensorId id : kTensors) bytes += bytes_of(id, problem) + kGuardBytes;
  return bytes;
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
    for (const TensorId id : kTensors) buffers_.emplace(id, allocate(bytes_of(id, problem)));
    dq_acc_ = allocate(family.dq_acc_bytes(problem));
    scratch_ = allocate(family.scratch_bytes(problem));
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
    tensors_.dq_acc = static_cast<float*>(dq_acc_.data());
    tensors_.scratch = scratch_.data();
    stream_.synchronize();
  }

  void fill_inputs(const Fill& fill) override {
    select();
    for (const TensorId id : kInputs) launch_fill(at(id), id, problem_, fill, stream_);
    stream_.synchronize();
  }

  void poison_outputs() override {
    select();
    for (const TensorId id : kOutputs) {
      FMHA_BWD_HIP(hipMemsetAsync(at(id), kPoisonPattern, bytes_of(id, problem_), stream_));
    }
    FMHA_BWD_HIP(hipMemsetAsync(dq_acc_.data(), kPoisonPattern, family_.dq_acc_bytes(problem_), stream_));
    FMHA_BWD_HIP(hipMemsetAsync(scratch_.data(), kPoisonPattern, family_.scratch_bytes(problem_), stream_));
    stream_.synchronize();
  }

  void forward(const Mask& mask) override {
    select();
    family_.forward(problem_, mask, tensors_, stream_);
    stream_.synchronize();
  }

  BackwardTimes backward(const Mask& mask) override {
    select();
    start_.record(stream_);
    family_.zero_dq(problem_, tensors_, stream_);
    zeroed_.record(stream_);
    family_.dot_do_o(problem_, tensors_, stream_);
    dotted_.record(stream_);
    family_.dq_dk_dv(problem_, mask, tensors_, stream_);
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
    std::vector<std::byte> bytes(bytes_of(id, problem_));
    FMHA_BWD_HIP(hipMemcpy(bytes.data(), at(id), bytes.size(), hipMemcpyDeviceToHost));
    return tensor_from_device(std::move(bytes), id, problem_);
  }

  std::vector<TensorId> damaged_guards() override {
    select();
    std::vector<TensorId> damaged;
    for (const TensorId id : kTensors) {
      if (is_damaged(at(id), bytes_of(id, problem_))) damaged.push_back(id);
    }
    if (is_damaged(dq_acc_.data(), family_.dq_acc_bytes(problem_)) ||
        is_damaged(scratch_.data(), family_.scratch_bytes(problem_))) {
      damaged.push_back(TensorId::dq);
    }
    return damaged;
  }

 private:
  void select() const { FMHA_BWD_HIP(hipSetDevice(device_)); }
  void* at(TensorId id) const { return buffers_.at(id).data(); }

  DeviceBuffer allocate(std::size_t bytes) const {
    DeviceBuffer buffer(bytes + kGuardBytes);
    FMHA_BWD_HIP(hipMemsetAsync(buffer.data(), kPoisonPattern, bytes, stream_));
    FMHA_BWD_HIP(
        hipMemsetAsync(static_cast<std::byte*>(buffer.data()) + bytes, kGuardPattern, kGuardBytes, stream_));
    return buffer;
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
  DeviceTensors tensors_;
};

class HipBackend final : public Backend {
 public:
  explicit HipBackend(int index) : device_(describe(index)) {}

  const Device& device() const override { return device_; }

  std::vector<KernelSupport> kernels(const Problem& problem) const override {
    std::vector<KernelSupport> all;
    for (const Family* family : families()) {
      all.push_back({std::string(family->name()), family->refusal(problem, device_.arch)});
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
