// Pages from the system, taken only when they are touched.
#pragma once

#include <cstddef>

namespace hip_emulator {

class Mapping {
 public:
  /// Bytes of the system's pages.
  static std::size_t page();

  Mapping() = default;
  /// Zeros, readable and writable. Throws std::bad_alloc.
  explicit Mapping(std::size_t bytes);
  ~Mapping();
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

  /// Makes whole pages inaccessible. Throws std::bad_alloc.
  void protect(std::size_t offset, std::size_t bytes) const;
  /// Gives the memory of whole pages back; they are zeros again.
  void forget(std::size_t offset, std::size_t bytes) const;

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace hip_emulator
