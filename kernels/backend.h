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

struct Device {
  std::string platform;   // "emulator", "amd" or "nvidia"
  int index = 0;          // among the platform's devices
  std::string name;       // as the vendor gives it
  std::string arch;       // "gfx942", "sm_90"
  bool emulated = false;  // its times say nothing about a GPU
};

/// One kernel family's answer to a problem on a device.
struct KernelSupport {
  std::string kernel;
  std::optional<std::string> refusal;  // why it cannot; nothing where it can
};

/// Milliseconds of one backward pass. The stages follow one another on one stream.
struct BackwardTimes {
  double zero_dq = 0.0;     // zeroing the fp32 accumulator of dQ, where no stage does it
  double dot_do_o = 0.0;    // stage 1
  double dq_dk_dv = 0.0;    // stage 2
  double convert_dq = 0.0;  // stage 3; 0 where the kernel writes dQ directly
  double total = 0.0;       // from the start of the first to the end of the last
};

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
