// Backend and Session on top of the HIP runtime, the same for every platform.
#include "kernels/hip_backend.h"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/alibi.h"
#include "kernels/backward_pass.h"
#include "kernels/choice.h"
#include "kernels/device_arch.h"
#include "kernels/family.h"
#include "kernels/fill.h"
#include "kernels/hip_check.h"
#include "kernels/pass_timer.h"
#include "kernels/problem_memory.h"

#define FMHA_BWD_TEXT_OF(name) #name
#define FMHA_BWD_TEXT(name) FMHA_BWD_TEXT_OF(name)

namespace fmha_bwd::FMHA_BWD_PLATFORM {
namespace {

constexpr const char* kPlatform = FMHA_BWD_TEXT(FMHA_BWD_PLATFORM);
/// 0 where the device does not say.
double attribute(int index, hipDeviceAttribute_t which) {
  int value = 0;
  if (hipDeviceGetAttribute(&value, which, index) == hipSuccess) return value;
  static_cast<void>(hipGetLastError());
  return 0.0;
}

DeviceLimits limits_of(int index, const hipDeviceProp_t& properties) {
  DeviceLimits limits;
  limits.multiprocessors = properties.multiProcessorCount;
  limits.max_clock_mhz = attribute(index, hipDeviceAttributeClockRate) * 1e-3;
  // Two transfers a clock.
  limits.memory_gbytes_per_s = 2.0 * attribute(index, hipDeviceAttributeMemoryClockRate) * 1e3 *
                               attribute(index, hipDeviceAttributeMemoryBusWidth) / 8.0 * 1e-9;
  limits.cache_bytes = last_level_cache_bytes(
      arch_of(properties), static_cast<std::int64_t>(attribute(index, hipDeviceAttributeL2CacheSize)));
  return limits;
}

/// "0000:1b:00.0"; empty where the device has none.
std::string pci_of(int index) {
  std::array<char, 32> text = {};
  if (hipDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), index) == hipSuccess)
    return text.data();
  static_cast<void>(hipGetLastError());
  return "";
}

/// "CUDA 13.0"; empty on the emulator.
std::string runtime_text() {
  int version = 0;
  FMHA_BWD_HIP(hipRuntimeGetVersion(&version));
  const bool is_nvidia = std::string_view(kPlatform) == "nvidia";
  return version == 0 ? "" : std::string(is_nvidia ? "CUDA " : "HIP ") + runtime_version(version);
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
  if (!device.emulated) device.limits = limits_of(index, properties);
  device.pci = pci_of(index);
  device.runtime = runtime_text();
  return device;
}

class HipSession final : public Session {
 public:
  HipSession(const Problem& problem, const Family& family, const Device& device)
      : problem_(problem),
        family_(family),
        device_(device.index),
        cache_bytes_(device.limits.cache_bytes),
        memory_(problem, family, stream_) {
    stream_.synchronize();
  }

  void fill_inputs(const Fill& fill) override {
    select();
    for (const TensorId id : inputs_of(problem_)) {
      launch_fill(memory_.at(id), id, problem_, fill, tensors().sequences, stream_);
    }
    stream_.synchronize();
    if (!problem_.alibi) return;
    upload(TensorId::slopes,
           tensor_from(alibi_slopes(problem_.nhead_q), shape_of(TensorId::slopes, problem_), DType::fp32));
  }

  void upload(TensorId id, const HostTensor& tensor) override {
    select();
    const TensorId storage = place_of(id, problem_).storage;
    std::vector<std::byte> bytes = memory_.downloaded(storage);
    tensor_to_device(tensor, id, problem_, bytes);
    memory_.upload(storage, bytes);
  }

  void poison_outputs() override {
    select();
    memory_.poison_outputs(stream_);
    stream_.synchronize();
  }

  void forward(const MaskSpec& mask) override {
    select();
    const MaskRule rule = rule_on_device(mask);
    family_.forward(problem_, rule, tensors(), stream_);
    stream_.synchronize();
  }

  BackwardTimes backward(const MaskSpec& mask) override {
    select();
    const MaskRule rule = rule_on_device(mask);
    start_.record(stream_);
    std::size_t stage = 0;
    enqueue_stages(problem_, family_, rule, tensors(), stream_, [&] { stages_[stage++].record(stream_); });
    stream_.synchronize();
    BackwardTimes times;
    times.zero_dq = stages_[0].since(start_);
    times.dot_do_o = stages_[1].since(stages_[0]);
    times.dq_dk_dv = stages_[2].since(stages_[1]);
    times.convert_dq = family_.dq_acc_bytes(problem_) > 0 ? stages_[3].since(stages_[2]) : 0.0;
    times.total = stages_[3].since(start_);
    return times;
  }

  void prepare_timing(const MaskSpec& mask, CacheState cache) override {
    select();
    timer_.reset();
    timer_.emplace(problem_, family_, rule_on_device(mask), memory_, cache, cache_bytes_, stream_);
  }

  double time_passes(std::int64_t passes) override {
    select();
    return timer().time(passes);
  }

  std::optional<double> time_graph(std::int64_t passes) override {
    select();
    return timer().time_graph(passes);
  }

  std::optional<double> clock_mhz() override {
    select();
    return timer().clock_mhz();
  }

  HostTensor download(TensorId id) override {
    select();
    return tensor_from_device(memory_.downloaded(place_of(id, problem_).storage), id, problem_);
  }

  std::vector<TensorId> damaged_guards() override {
    select();
    return memory_.damaged_guards();
  }

 private:
  void select() const { FMHA_BWD_HIP(hipSetDevice(device_)); }

  const DeviceTensors& tensors() const { return memory_.tensors(); }

  PassTimer& timer() {
    if (!timer_) throw std::invalid_argument("no prepare_timing before");
    return *timer_;
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

  Problem problem_;
  const Family& family_;
  int device_;
  std::int64_t cache_bytes_;
  Stream stream_;
  ProblemMemory memory_;
  Event start_;
  std::array<Event, 4> stages_;  // recorded behind each
  DeviceBuffer documents_;
  std::vector<std::int64_t> documents_on_device_;
  std::optional<PassTimer> timer_;
};

class HipBackend final : public Backend {
 public:
  explicit HipBackend(int index) : device_(describe(index)) {}

  const Device& device() const override { return device_; }

  std::vector<KernelSupport> kernels(const Problem& problem, const MaskSpec& mask) const override {
    const MeasuredChoice* const choice =
        device_.emulated ? nullptr : choice_for(problem, mask.rule(), device_.arch);
    std::vector<KernelSupport> all;
    for (const Family* family : families()) {
      const bool chosen = choice != nullptr && choice->kernel == family->name();
      all.push_back({std::string(family->name()), family->refusal(problem, mask.rule(), device_.arch),
                     chosen ? reason_of(*choice) : ""});
    }
    return all;
  }

  std::unique_ptr<Session> open(const Problem& problem, std::string_view kernel) override {
    for (const Family* family : families()) {
      if (family->name() != kernel) continue;
      FMHA_BWD_HIP(hipSetDevice(device_.index));
      const std::size_t needed = memory_bytes(problem, *family);
      const MemoryState memory = memory_state();
      if (needed > memory.free) throw out_of_memory("the problem on " + device_.name, needed, memory);
      return std::make_unique<HipSession>(problem, *family, device_);
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
