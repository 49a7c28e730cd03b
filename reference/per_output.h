// Something for each output of a problem.
#pragma once

#include <stdexcept>

#include "base/tensor.h"

namespace fmha_bwd {

template <typename T>
struct PerOutput {
  T o;
  T lse;
  T d;
  T dq;
  T dk;
  T dv;
  T dbias;  // where the problem has a bias
  T dsink;  // where it has sinks

  /// That of the tensor of that name; throws std::invalid_argument for an input's.
  const T& of(TensorId id) const {
    switch (id) {
      case TensorId::o:
        return o;
      case TensorId::lse:
        return lse;
      case TensorId::d:
        return d;
      case TensorId::dq:
        return dq;
      case TensorId::dk:
        return dk;
      case TensorId::dv:
        return dv;
      case TensorId::dbias:
        return dbias;
      case TensorId::dsink:
        return dsink;
      default:
        throw std::invalid_argument("an input is not an output");
    }
  }
};

}  // namespace fmha_bwd
