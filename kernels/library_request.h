// A problem of the C interface, checked and in the program's own terms.
#pragma once

#include <cstddef>
#include <string>

#include "base/mask.h"
#include "base/problem.h"
#include "base/sequences.h"
#include "kernels/library.h"

namespace fmha_bwd {

/// Throws Error (bad_usage) with `message`.
[[noreturn]] void refuse_request(const std::string& message);

struct Request {
  Problem problem;
  MaskRule mask;  // its document_ends are the caller's, on the host
};

/// Throws Error (bad_usage) whose message names the option, or the member, that is wrong.
Request request_from(const fmha_bwd_problem& given);

/// The lists of a problem as kernels read them on the device: [batch] of Sequence in group mode, then the
/// ends of the documents.
class RequestTable {
 public:
  /// Keeps a reference to `request`.
  explicit RequestTable(const Request& request);
  explicit RequestTable(const Request&&) = delete;

  std::size_t bytes() const { return documents_at_ + document_bytes_; }
  /// Writes bytes() bytes.
  void fill(void* table) const;
  /// The sequences of a table at `table`; nullptr in batch mode.
  const Sequence* sequences(const void* table) const;
  /// The request's mask with the documents of a table at `table`.
  MaskRule mask(const void* table) const;

 private:
  const Request& request_;
  std::size_t documents_at_;  // bytes from the table's start
  std::size_t document_bytes_;
};

}  // namespace fmha_bwd
