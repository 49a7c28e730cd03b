#include "kernels/platform/emulator/mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <utility>

namespace hip_emulator {

namespace {

std::byte* map(void* where, std::size_t bytes, int flags) {
  void* const memory =
      mmap(where, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  madvise(memory, bytes, MADV_DONTDUMP);
  return static_cast<std::byte*>(memory);
}

}  // namespace

std::size_t Mapping::page() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

Mapping::Mapping(std::size_t bytes) : data_(map(nullptr, bytes, 0)), bytes_(bytes) {}

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
  // Mapped anew, so that ThreadSanitizer forgets what it knows of them, too.
  if (bytes > 0) map(data_ + offset, bytes, MAP_FIXED);
}

}  // namespace hip_emulator
