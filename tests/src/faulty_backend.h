// A backend with one fault in its kernels, to show that verification sees it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/backend.h"

namespace fmha_bwd {

enum class Fault {
  none,
  zeroed_dk,
  zeroed_dq,
  shifted_mask,   // every query sees one key more
  dropped_scale,  // scale = 1
  dropped_softcap,
  other_dropout,  // another seed
  nan_element,    // in the middle of dV
  unwritten_row,  // of dQ: the poison is left there
  wrong_element,  // the first of the middle row of dQ is off by 1
  damaged_guard,  // after dK
  changing_bit,   // one of dV, another in every backward pass
};

class FaultySession : public Session {
 public:
  FaultySession(std::unique_ptr<Session> session, Fault fault)
      : session_(std::move(session)), fault_(fault) {}

  void fill_inputs(const Fill& fill) override { session_->fill_inputs(fill); }
  void upload(TensorId id, const HostTensor& tensor) override { session_->upload(id, tensor); }
  void poison_outputs() override { session_->poison_outputs(); }
  void forward(const MaskSpec& mask) override { session_->forward(applied(mask)); }
  BackwardTimes backward(const MaskSpec& mask) override {
    ++passes_;
    return session_->backward(applied(mask));
  }

  void prepare_timing(const MaskSpec& mask, CacheState cache) override {
    session_->prepare_timing(applied(mask), cache);
  }
  double time_passes(std::int64_t passes) override { return session_->time_passes(passes); }
  std::optional<double> time_graph(std::int64_t passes) override { return session_->time_graph(passes); }
  std::optional<double> clock_mhz() override { return session_->clock_mhz(); }

  HostTensor download(TensorId id) override {
    HostTensor tensor = session_->download(id);
    const std::size_t element = size_of(tensor.dtype);
    const std::size_t row = static_cast<std::size_t>(tensor.shape.column) * element;
    const auto fill = [&](std::size_t begin, std::size_t bytes, int pattern) {
      std::memset(tensor.bytes.data() + begin, pattern, bytes);
    };
    constexpr int kPoison = 0xFF;
    if (fault_ == Fault::zeroed_dk && id == TensorId::dk) fill(0, tensor.bytes.size(), 0);
    if (fault_ == Fault::zeroed_dq && id == TensorId::dq) fill(0, tensor.bytes.size(), 0);
    if (fault_ == Fault::nan_element && id == TensorId::dv && !tensor.bytes.empty()) {
      fill(tensor.bytes.size() / 2 / element * element, element, kPoison);
    }
    if (fault_ == Fault::unwritten_row && id == TensorId::dq && tensor.shape.elements() > 0) {
      fill(std::min(row * 5, tensor.bytes.size() - row), row, kPoison);
    }
    if (fault_ == Fault::wrong_element && id == TensorId::dq) {
      std::vector<float> values = values_of(tensor);
      const std::int64_t rows = tensor.shape.elements() / tensor.shape.column;
      values[static_cast<std::size_t>(rows / 2 * tensor.shape.column)] += 1.0F;
      tensor = tensor_from(values, tensor.shape, tensor.dtype);
    }
    if (fault_ == Fault::changing_bit && id == TensorId::dv && passes_ % 2 == 0) {
      tensor.bytes[0] ^= std::byte{1};  // the last bit of the first element
    }
    return tensor;
  }

  std::vector<TensorId> damaged_guards() override {
    std::vector<TensorId> damaged = session_->damaged_guards();
    if (fault_ == Fault::damaged_guard) damaged.push_back(TensorId::dk);
    return damaged;
  }

 private:
  MaskSpec applied(const MaskSpec& mask) const {
    return fault_ == Fault::shifted_mask ? shifted(mask, 1) : mask;
  }

  std::unique_ptr<Session> session_;
  Fault fault_;
  int passes_ = 0;
};

class FaultyBackend final : public Backend {
 public:
  FaultyBackend(std::unique_ptr<Backend> backend, Fault fault)
      : backend_(std::move(backend)), fault_(fault) {}

  const Device& device() const override { return backend_->device(); }
  std::vector<KernelSupport> kernels(const Problem& problem, const MaskSpec& mask) const override {
    return backend_->kernels(problem, mask);
  }

  /// The family that only compares has no faults.
  std::unique_ptr<Session> open(const Problem& problem, std::string_view kernel) override {
    if (kernel == "plain") return backend_->open(problem, kernel);
    Problem computed = problem;
    if (fault_ == Fault::dropped_scale) computed.scale = 1.0F;
    if (fault_ == Fault::dropped_softcap) computed.softcap = 0.0F;
    if (fault_ == Fault::other_dropout) ++computed.dropout.seed;
    return std::make_unique<FaultySession>(backend_->open(computed, kernel), fault_);
  }

 private:
  std::unique_ptr<Backend> backend_;
  Fault fault_;
};

/// What puts the fault into the program's backend; a Decorate of src/program.h.
inline auto with_fault(Fault fault) {
  return [fault](std::unique_ptr<Backend> backend) -> std::unique_ptr<Backend> {
    return std::make_unique<FaultyBackend>(std::move(backend), fault);
  };
}

}  // namespace fmha_bwd
