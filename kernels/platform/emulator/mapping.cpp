#include "kernels/platform/emulator/mapping.h"

#include <sys/mman.h>

#include <new>
#include <utility>

namespace hip_emulator {

Mapping::Mapping(std::size_t bytes) : bytes_(bytes) {
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<std::byte*>(memory);
  madvise(data_, bytes, MADV_DONTDUMP);
}

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void Mapping::protect(std::size_t offset, std::size_t bytes) const {
  if (mprotect(data_ + offset, bytes, PROT_NONE) != 0) throw std::bad_alloc();
}

void Mapping::forget(std::size_t offset, std::size_t bytes) const {
  madvise(data_ + offset, bytes, MADV_DONTNEED);
}

}  // namespace hip_emulator
