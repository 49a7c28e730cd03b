// What the program needs from a platform: devices, and sessions that hold one problem's tensors on a device.
// No HIP here: the emulator, NVIDIA and AMD stand behind the same interface in one executable.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fill.h"
#include "base/mask_spec.h"
#include "base/problem.h"
#include "base/tensor.h"

namespace fmha_bwd {

/// What a device can do at most, as its runtime tells; 0 where it does not.
struct DeviceLimits {
  std::int64_t multiprocessors = 0;
  double max_clock_mhz = 0.0;
  double memory_gbytes_per_s = 0.0;  // 1e9 bytes a second, of the memory's clock and width
  std::int64_t cache_bytes = 0;      // of the last level
};

struct Device {
  std::string platform;   // "emulator", "amd" or "nvidia"
  int index = 0;          // among the platform's devices
  std::string name;       // as the vendor gives it
  std::string arch;       // "gfx942", "sm_90"
  bool emulated = false;  // its times say nothing about a GPU
  DeviceLimits limits;
  std::string pci;      // "0000:1b:00.0"; empty where it has no such address
  std::string runtime;  // "CUDA 13.0"; empty on the emulator
};

/// One kernel family's answer to a problem on a device.
struct KernelSupport {
  std::string kernel;
  std::optional<std::string> refusal;  // why it cannot; nothing where it can
  std::string merit = {};              // why it is to be taken before those above it; empty where it is not
};

/// Milliseconds of one backward pass. The stages follow one another on one stream.
struct BackwardTimes {
  double zero_dq = 0.0;     // zeroing the fp32 accumulator of dQ, where no stage does it
  double dot_do_o = 0.0;    // stage 1
  double dq_dk_dv = 0.0;    // stage 2
  double convert_dq = 0.0;  // stage 3; 0 where the kernel writes dQ directly
  double total = 0.0;       // from the start of the first to the end of the last
};

/// What a timed pass finds in the last-level cache. rotate: the tensors of other passes, since passes take
/// sets of tensors in turn that together are at least twice as large, or 4096; flush: zeros, written before
/// the pass and before its time begins; warm: what the pass before left.
enum class CacheState { rotate, flush, warm };

/// One problem's tensors on a device and the kernels of one family. Device memory is freed on destruction.
/// Every function throws Error (device_error) when the device reports one.
class Session {
 public:
  virtual ~Session() = default;

  /// Draws inputs_of(problem), and sets ALiBi's slopes.
  virtual void fill_inputs(const Fill& fill) = 0;
  /// Replaces an input. Throws std::invalid_argument where the tensor is not of the problem's shape and type.
  virtual void upload(TensorId id, const HostTensor& tensor) = 0;
  /// Fills outputs_of(problem) with NaN, so that an element that no kernel writes is seen.
  virtual void poison_outputs() = 0;
  /// O and LSE, the backward's inputs. A query that sees no key gets O = 0 and LSE = -infinity.
  virtual void forward(const MaskSpec& mask) = 0;
  /// D and the gradients by the three stages, each timed by device events.
  virtual BackwardTimes backward(const MaskSpec& mask) = 0;
  /// Gets ready to time passes under `mask`, whose forward() was the last: allocates what `cache` needs.
  virtual void prepare_timing(const MaskSpec& mask, CacheState cache) = 0;
  /// Milliseconds by the device's events from the start of the first of `passes` >= 1, back to back, to the
  /// end of the last. With CacheState::flush only the first finds the cache so. Throws std::invalid_argument
  /// without prepare_timing.
  virtual double time_passes(std::int64_t passes) = 0;
  /// The same of passes that were recorded as one graph, without the gaps between launches; nothing where the
  /// platform has no graphs.
  virtual std::optional<double> time_graph(std::int64_t passes) = 0;
  /// MHz that the multiprocessors ran at, on average since the last call, by their own counters. Nothing at
  /// the first call, over less than a millisecond, and on platforms other than NVIDIA's.
  virtual std::optional<double> clock_mhz() = 0;
  /// The bits of any tensor that the problem has, row-major and without padding whatever its layout.
  virtual HostTensor download(TensorId id) = 0;
  /// The tensors after whose end, or into whose padding, a kernel wrote.
  virtual std::vector<TensorId> damaged_guards() = 0;
};

/// One device.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual const Device& device() const = 0;
  /// Every family of the platform, the fastest first, and what it says to the problem under that mask.
  virtual std::vector<KernelSupport> kernels(const Problem& problem, const MaskSpec& mask) const = 0;
  /// Allocates the problem's tensors for `kernel`, one that supports it. Throws Error (device_error) that
  /// says how many bytes were needed and how many are free where they do not fit.
  virtual std::unique_ptr<Session> open(const Problem& problem, std::string_view kernel) = 0;
};

/// A platform that was compiled into this program.
struct Platform {
  std::string name;
  std::vector<std::string> architectures;  // that it has code for
  std::vector<Device> devices;             // that answer now
  std::string absence;                     // why there is none, where devices is empty
};

/// The compiled-in platforms: GPUs first, the emulator last.
std::vector<Platform> platforms();

/// Opens devices[index] of the platform named `platform`.
std::unique_ptr<Backend> open_backend(std::string_view platform, int index);

}  // namespace fmha_bwd
