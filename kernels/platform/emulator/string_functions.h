// memcpy and its like in kernel sources are functions of the emulator, also where the compiler makes a call
// of a copy or of a loop: instrumentation.cpp sees what they access.
#pragma once

#include <cstring>

#if !defined(FMHA_BWD_THREAD_SANITIZER)
extern "C" {
void* memcpy(void* to, const void* from, std::size_t bytes) noexcept asm("hip_emulator_memcpy");
void* memmove(void* to, const void* from, std::size_t bytes) noexcept asm("hip_emulator_memmove");
void* memset(void* to, int value, std::size_t bytes) noexcept asm("hip_emulator_memset");
}
#endif
