#include "kernels/platform/emulator/matrix_core.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include "kernels/platform/emulator/matrix_layouts.h"
#include "kernels/platform/emulator/matrix_units.h"
#include "kernels/platform/emulator/workgroup.h"

namespace hip_emulator {
namespace {

static_assert(std::endian::native == std::endian::little);  // a word's low half is first in memory

/// What a lane brings to a multiplication. The computation may change it.
struct Operands {
  float* c;
  const std::uint32_t* a;
  const std::uint32_t* b;
  char differs;  // 'A' or 'B': that operand is not what it must repeat; 0: all is well
};

/// Of each element of an operand, lane by lane, its index in the matrix, row by row.
template <std::size_t lanes, std::size_t elements>
constexpr auto indices(Position (*layout)(int, int), int columns) {
  std::array<std::uint16_t, lanes * elements> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto [row, column] = layout(static_cast<int>(i / elements), static_cast<int>(i % elements));
    table[i] = static_cast<std::uint16_t>(row * columns + column);
  }
  return table;
}

// Vectors by name, because compilers make none of these loops by themselves.
typedef std::uint16_t FourElements __attribute__((vector_size(8), may_alias));
typedef std::uint32_t FourWords __attribute__((vector_size(16), may_alias));
typedef std::int32_t FourIntegers __attribute__((vector_size(16), may_alias));
typedef float FourFloats __attribute__((vector_size(16), may_alias));

/// Exact, but for what has a magnitude, as bits, below `smallest`: that is zero, with its sign.
template <class T>
FourFloats floats_of(FourElements elements, std::uint32_t smallest) {
  const FourWords bits = __builtin_convertvector(elements, FourWords);
  const FourWords sign = (bits & 0x8000u) << 16;
  FourWords magnitude = bits & 0x7fffu;
  magnitude = magnitude < smallest ? FourWords{} : magnitude;
  if constexpr (std::same_as<T, fmha_bwd::Bfloat16>) return (FourFloats)(magnitude << 16 | sign);
  // Not by fp32 numbers that are subnormal themselves, which take long.
  const FourFloats subnormal = __builtin_convertvector((FourIntegers)magnitude, FourFloats) * 0x1p-24F;
  const FourWords to_add = (magnitude >= 0x7c00u ? FourWords{} + 0x70000000u : FourWords{} + 0x38000000u);
  const FourWords finite = magnitude < 0x400u ? (FourWords)subnormal : (magnitude << 13) + to_add;
  return (FourFloats)(finite | sign);
}

template <class T>
constexpr std::uint32_t kSmallestNormal = std::same_as<T, fmha_bwd::Half> ? 0x0400 : 0x0080;  // as bits
constexpr float kSmallestNormalResult = 0x1p-126F;

template <class T, std::size_t lanes, std::size_t elements, std::size_t size>
void unpack(std::span<void* const> operands, const std::uint32_t* Operands::*which,
            const std::array<std::uint16_t, lanes * elements>& table, bool flush,
            std::array<float, size>& matrix) {
  static_assert(elements % 4 == 0);
  alignas(16) std::array<T, lanes * elements> packed;
  for (std::size_t l = 0; l < lanes; ++l) {
    std::memcpy(&packed[l * elements], static_cast<const Operands*>(operands[l])->*which,
                elements * sizeof(T));
  }
  alignas(16) std::array<float, lanes * elements> values;
  const std::uint32_t smallest = flush ? kSmallestNormal<T> : 0;
  for (std::size_t i = 0; i < values.size(); i += 4) {
    *reinterpret_cast<FourFloats*>(&values[i]) =
        floats_of<T>(*reinterpret_cast<const FourElements*>(&packed[i]), smallest);
  }
  for (std::size_t i = 0; i < values.size(); ++i) matrix[table[i]] = values[i];
}

/// C += A B, of matrices row by row; for each element of C one product after the other, in order of k.
template <std::size_t rows, std::size_t columns, std::size_t depth>
void multiply_add_rows(const float* a, const float* b, float* c) {
  constexpr std::size_t kFours = columns / 4;
  const auto* const b_fours = reinterpret_cast<const FourFloats*>(b);
  auto* const c_fours = reinterpret_cast<FourFloats*>(c);
  for (std::size_t row = 0; row < rows; ++row) {
    FourFloats sums[kFours];
#pragma GCC unroll 8
    for (std::size_t four = 0; four < kFours; ++four) sums[four] = c_fours[row * kFours + four];
    for (std::size_t k = 0; k < depth; ++k) {
      const float factor = a[row * depth + k];
#pragma GCC unroll 8
      for (std::size_t four = 0; four < kFours; ++four) sums[four] += factor * b_fours[k * kFours + four];
    }
#pragma GCC unroll 8
    for (std::size_t four = 0; four < kFours; ++four) c_fours[row * kFours + four] = sums[four];
  }
}

template <class Layout, class T>
void multiply_add_in_wave(std::span<void* const> operands, const Architecture& architecture) {
  constexpr auto kLanes = static_cast<std::size_t>(Layout::kLanes);
  constexpr auto kRows = static_cast<std::size_t>(Layout::kRows);
  constexpr auto kColumns = static_cast<std::size_t>(Layout::kColumns);
  constexpr auto kDepth = static_cast<std::size_t>(Layout::kDepth);
  constexpr auto kElementsOfA = static_cast<std::size_t>(Layout::kElementsOfA);
  constexpr auto kElementsOfB = static_cast<std::size_t>(Layout::kElementsOfB);
  constexpr auto kElementsOfC = static_cast<std::size_t>(Layout::kElementsOfC);
  static constexpr auto kOfA = indices<kLanes, kElementsOfA>(&Layout::a, Layout::kDepth);
  static constexpr auto kOfB = indices<kLanes, kElementsOfB>(&Layout::b, Layout::kColumns);
  static constexpr auto kOfC = indices<kLanes, kElementsOfC>(&Layout::c, Layout::kColumns);

  const bool flush = flushes_subnormals(architecture);
  std::array<float, kRows * kDepth> a;
  alignas(16) std::array<float, kDepth * kColumns> b;
  alignas(16) std::array<float, kRows * kColumns> c;
  unpack<T, kLanes, kElementsOfA>(operands, &Operands::a, kOfA, flush, a);
  unpack<T, kLanes, kElementsOfB>(operands, &Operands::b, kOfB, flush, b);
  for (std::size_t i = 0; i < kOfC.size(); ++i) {
    c[kOfC[i]] = static_cast<const Operands*>(operands[i / kElementsOfC])->c[i % kElementsOfC];
  }
  multiply_add_rows<kRows, kColumns, kDepth>(a.data(), b.data(), c.data());
  if (flush) {
    for (float& sum : c) {
      if (std::abs(sum) < kSmallestNormalResult) sum = std::copysign(0.0F, sum);
    }
  }
  for (std::size_t i = 0; i < kOfC.size(); ++i) {
    static_cast<const Operands*>(operands[i / kElementsOfC])->c[i % kElementsOfC] = c[kOfC[i]];
  }
}

template <class T>
void wmma_gfx11_in_wave(std::span<void* const> operands, const Architecture& architecture) {
  constexpr std::size_t kBytes = Wmma16x16x16Gfx11::kElementsOfA * sizeof(T);
  for (std::size_t l = 16; l < operands.size(); ++l) {
    auto* const lane = static_cast<Operands*>(operands[l]);
    const auto* const repeated = static_cast<const Operands*>(operands[l - 16]);
    if (std::memcmp(lane->b, repeated->b, kBytes) != 0) lane->differs = 'B';
    if (std::memcmp(lane->a, repeated->a, kBytes) != 0) lane->differs = 'A';
  }
  multiply_add_in_wave<Wmma16x16x16Gfx11, T>(operands, architecture);
}

template <class T>
void mfma_16x16x32_in_wave(std::span<void* const> operands, const Architecture& architecture) {
  if (has_unit(architecture, MatrixUnit::cdna4)) {
    return multiply_add_in_wave<Mfma16x16x32Gfx950, T>(operands, architecture);
  }
  multiply_add_in_wave<Mfma16x16x16, T>(operands, architecture);
  for (void* const lane : operands) {
    static_cast<Operands*>(lane)->a += 2;
    static_cast<Operands*>(lane)->b += 2;
  }
  multiply_add_in_wave<Mfma16x16x16, T>(operands, architecture);
}

struct Entry {
  MatrixUnit unit;
  Computation fp16;
  Computation bf16;
};

template <class Layout>
constexpr Entry entry(MatrixUnit unit) {
  return {unit, &multiply_add_in_wave<Layout, fmha_bwd::Half>,
          &multiply_add_in_wave<Layout, fmha_bwd::Bfloat16>};
}

Entry entry_of(MatrixInstruction instruction) {
  switch (instruction) {
    case MatrixInstruction::mfma_16x16x16:
      return entry<Mfma16x16x16>(MatrixUnit::cdna);
    case MatrixInstruction::mfma_32x32x8:
      return entry<Mfma32x32x8>(MatrixUnit::cdna);
    case MatrixInstruction::mfma_16x16x32_gfx950:
      return entry<Mfma16x16x32Gfx950>(MatrixUnit::cdna4);
    case MatrixInstruction::mfma_32x32x16_gfx950:
      return entry<Mfma32x32x16Gfx950>(MatrixUnit::cdna4);
    case MatrixInstruction::mfma_16x16x32:
      return {MatrixUnit::cdna, &mfma_16x16x32_in_wave<fmha_bwd::Half>,
              &mfma_16x16x32_in_wave<fmha_bwd::Bfloat16>};
    case MatrixInstruction::wmma_16x16x16_gfx11:
      return {MatrixUnit::rdna3, &wmma_gfx11_in_wave<fmha_bwd::Half>,
              &wmma_gfx11_in_wave<fmha_bwd::Bfloat16>};
    case MatrixInstruction::wmma_16x16x16_gfx12:
      return entry<Wmma16x16x16Gfx12>(MatrixUnit::rdna4);
    case MatrixInstruction::mma_16x8x16:
      return entry<Mma16x8x16>(MatrixUnit::nvidia);
  }
  __builtin_unreachable();
}

/// What a lane brings to ldmatrix, and gets from it.
struct Rows {
  SixteenBytes own;
  std::uint32_t* words;  // four
};

std::uint32_t half_of(std::uint32_t word, std::size_t which) { return word >> (16 * which) & 0xffffu; }

template <bool transposed>
void distribute_in_wave(std::span<void* const> operands, const Architecture&) {
  for (std::size_t l = 0; l < operands.size(); ++l) {
    for (std::size_t matrix = 0; matrix < 4; ++matrix) {
      const auto row = [&](std::size_t i) { return static_cast<const Rows*>(operands[8 * matrix + i])->own; };
      std::uint32_t& word = static_cast<const Rows*>(operands[l])->words[matrix];
      if constexpr (transposed) {
        const std::size_t column = l / 4;
        const std::uint32_t low = half_of(row(2 * (l % 4))[column / 2], column % 2);
        const std::uint32_t high = half_of(row(2 * (l % 4) + 1)[column / 2], column % 2);
        word = high << 16 | low;
      } else {
        word = row(l / 4)[l % 4];
      }
    }
  }
}

}  // namespace

void multiply_add(MatrixInstruction instruction, fmha_bwd::DType dtype, float* c, const std::uint32_t* a,
                  const std::uint32_t* b, const char* operation, const char* file, int line) {
  const Site site = {operation, file, line};
  const Entry entry = entry_of(instruction);
  require_whole_wave(entry.unit, site);
  Operands operands = {c, a, b, 0};
  current_workgroup->wave_function(
      WaveFunction::multiplication,
      {0, 0, dtype == fmha_bwd::DType::fp16 ? entry.fp16 : entry.bf16, &operands}, site);
  if (operands.differs != 0) {
    const int lane = lane_in_wave();
    current_workgroup->fail(site.text() + ": lane " + std::to_string(lane) + " of the wave has another " +
                                operands.differs + " than lane " + std::to_string(lane - 16) +
                                "; lanes 16-31 must repeat lanes 0-15",
                            nullptr);
  }
}

void check_row(const void* row, const char* operation, const char* file, int line) {
  const Site site = {operation, file, line};
  require_whole_wave(MatrixUnit::nvidia, site);
  require_shared(row, site);
}

void distribute_rows(std::uint32_t* words, SixteenBytes row, bool transposed, const char* operation,
                     const char* file, int line) {
  Rows rows = {row, words};
  current_workgroup->wave_function(
      WaveFunction::ldmatrix,
      {0, 0, transposed ? &distribute_in_wave<true> : &distribute_in_wave<false>, &rows},
      {operation, file, line});
}

std::uint32_t swap_halves(std::uint32_t value, const char* file, int line) {
  constexpr const char* kOperation = "swap_halves";
  require_whole_wave(MatrixUnit::rdna, {kOperation, file, line});
  return static_cast<std::uint32_t>(shuffle_bits(value, lane_in_wave() ^ 16, kOperation, file, line));
}

}  // namespace hip_emulator
