// Where matrix instructions have the elements of their operands, as the vendors' tables have it: AMD's Matrix
// Instruction Calculator and matrix core posts, and the PTX ISA's fragments of mma.m16n8k16. Read the other
// way round than the emulator's own: not where an element of a lane is, but who has A[i][k], B[k][j] and
// C[i][j].
#pragma once

#include <string>
#include <vector>

#include "tests/kernels/platform/emulator/matrix_core_kernels.h"

namespace fmha_bwd {

/// The lane that has an element of a matrix, and which of the lane's it is.
struct Home {
  int lane;
  int element;
};

struct Layout {
  using Homes = Home (*)(int, int);

  std::string name;
  std::vector<std::string> architectures;  // that have it
  test_kernels::Instruction instruction;
  int lanes;
  int rows, columns, depth;                // of C, and of A or B
  int elements_a, elements_b, elements_c;  // that a lane has
  Homes a;                                 // of i and k
  Homes b;                                 // of j and k: on AMD's all as A
  Homes c;                                 // of i and j
};

// CDNA. A lane has elements of neighbouring k; rows of C come in fours.
inline Home cdna_a_16x16x16(int i, int k) { return {i + 16 * (k / 4), k % 4}; }
inline Home cdna_a_32x32x8(int i, int k) { return {i + 32 * (k / 4), k % 4}; }
inline Home cdna_a_16x16x32(int i, int k) { return {i + 16 * (k / 8), k % 8}; }
inline Home cdna_a_32x32x16(int i, int k) { return {i + 32 * (k / 8), k % 8}; }
inline Home cdna_c_16x16(int i, int j) { return {j + 16 * (i / 4), i % 4}; }
inline Home cdna_c_32x32(int i, int j) { return {j + 32 * (i / 4 % 2), i % 4 + 4 * (i / 8)}; }

// RDNA 3, where lanes 16-31 have of A and B what lanes 0-15 have, and RDNA 4.
inline Home rdna3_a(int i, int k) { return {i, k}; }
inline Home rdna3_c(int i, int j) { return {j + 16 * (i % 2), i / 2}; }
inline Home rdna4_a(int i, int k) { return {i + 16 * (k / 4 % 2), k % 4 + 4 * (k / 8)}; }
inline Home rdna4_c(int i, int j) { return {j + 16 * (i / 8), i % 8}; }

// PTX: groupID = laneid >> 2 is the row of A and C, or 8 less, and the column of B; threadID_in_group =
// laneid % 4 is half the other index, without its eight.
inline Home nvidia_a(int i, int k) { return {4 * (i % 8) + k % 8 / 2, k % 2 + 2 * (i / 8) + 4 * (k / 8)}; }
inline Home nvidia_b(int j, int k) { return {4 * j + k % 8 / 2, k % 2 + 2 * (k / 8)}; }
inline Home nvidia_c(int i, int j) { return {4 * (i % 8) + j / 2, j % 2 + 2 * (i / 8)}; }

/// In the order of test_kernels::Instruction.
inline const std::vector<Layout>& layouts() {
  using enum test_kernels::Instruction;
  using Names = std::vector<std::string>;
  static const Names cdna = {"gfx90a", "gfx942", "gfx950"};
  static const Names cdna4 = {"gfx950"};
  static const Names rdna3 = {"gfx1100"};
  static const Names rdna4 = {"gfx1201"};
  static const Names nvidia = {"sm_80", "sm_90a"};
  static const std::vector<Layout> all = {
      {"mfma_16x16x16", cdna, mfma_16x16x16,  //
       64, 16, 16, 16, 4, 4, 4, cdna_a_16x16x16, cdna_a_16x16x16, cdna_c_16x16},
      {"mfma_32x32x8", cdna, mfma_32x32x8,  //
       64, 32, 32, 8, 4, 4, 16, cdna_a_32x32x8, cdna_a_32x32x8, cdna_c_32x32},
      {"mfma_16x16x32_gfx950", cdna4, mfma_16x16x32_gfx950,  //
       64, 16, 16, 32, 8, 8, 4, cdna_a_16x16x32, cdna_a_16x16x32, cdna_c_16x16},
      {"mfma_32x32x16_gfx950", cdna4, mfma_32x32x16_gfx950,  //
       64, 32, 32, 16, 8, 8, 16, cdna_a_32x32x16, cdna_a_32x32x16, cdna_c_32x32},
      {"mfma_16x16x32", cdna, mfma_16x16x32,  // also as two: k in another order, the same for A and B
       64, 16, 16, 32, 8, 8, 4, cdna_a_16x16x32, cdna_a_16x16x32, cdna_c_16x16},
      {"wmma_16x16x16_gfx11", rdna3, wmma_16x16x16_gfx11,  //
       32, 16, 16, 16, 16, 16, 8, rdna3_a, rdna3_a, rdna3_c},
      {"wmma_16x16x16_gfx12", rdna4, wmma_16x16x16_gfx12,  //
       32, 16, 16, 16, 8, 8, 8, rdna4_a, rdna4_a, rdna4_c},
      {"mma_16x8x16", nvidia, mma_16x8x16,  //
       32, 16, 8, 16, 8, 4, 4, nvidia_a, nvidia_b, nvidia_c},
  };
  return all;
}

inline const Layout& layout_of(test_kernels::Instruction instruction) {
  return layouts()[static_cast<std::size_t>(instruction)];
}

}  // namespace fmha_bwd
