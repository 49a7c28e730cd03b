// From run-time values to template arguments.
#pragma once

#include <stdexcept>

#include "base/dtype.h"

namespace fmha_bwd {

/// Calls `body.template operator()<T>()` with the storage type of `dtype`.
template <class Body>
void with_element_type(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::fp16:
      return body.template operator()<Half>();
    case DType::bf16:
      return body.template operator()<Bfloat16>();
    case DType::fp32:
      return body.template operator()<float>();
  }
  throw std::invalid_argument("with_element_type: no such type");
}

}  // namespace fmha_bwd
