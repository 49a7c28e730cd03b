// Which element of a matrix each lane of a wave has in each of its operands. Sources: AMD's Matrix
// Instruction Calculator for CDNA; AMD's matrix core posts and LLVM for RDNA; for NVIDIA the PTX ISA's
// figures of the fragments of mma.m16n8k16. The k of CDNA 4's 32x32x16 is inferred from its 16x16x32.
//
// l is the lane in its wave, e the element within the lane's operand (of A and B two a word, low half first),
// r the register of C. C is kRows x kColumns, A is kRows x kDepth, and B is kDepth x kColumns.
#pragma once

namespace hip_emulator {

struct Position {
  int row;
  int column;
};

struct Mfma16x16x16 {
  static constexpr int kLanes = 64;
  static constexpr int kRows = 16, kColumns = 16, kDepth = 16;
  static constexpr int kElementsOfA = 4, kElementsOfB = 4, kElementsOfC = 4;
  static constexpr Position a(int l, int e) { return {l % 16, 4 * (l / 16) + e}; }
  static constexpr Position b(int l, int e) { return {4 * (l / 16) + e, l % 16}; }
  static constexpr Position c(int l, int r) { return {4 * (l / 16) + r, l % 16}; }
};

struct Mfma32x32x8 {
  static constexpr int kLanes = 64;
  static constexpr int kRows = 32, kColumns = 32, kDepth = 8;
  static constexpr int kElementsOfA = 4, kElementsOfB = 4, kElementsOfC = 16;
  static constexpr Position a(int l, int e) { return {l % 32, 4 * (l / 32) + e}; }
  static constexpr Position b(int l, int e) { return {4 * (l / 32) + e, l % 32}; }
  static constexpr Position c(int l, int r) { return {8 * (r / 4) + 4 * (l / 32) + r % 4, l % 32}; }
};

struct Mfma16x16x32Gfx950 {
  static constexpr int kLanes = 64;
  static constexpr int kRows = 16, kColumns = 16, kDepth = 32;
  static constexpr int kElementsOfA = 8, kElementsOfB = 8, kElementsOfC = 4;
  static constexpr Position a(int l, int e) { return {l % 16, 8 * (l / 16) + e}; }
  static constexpr Position b(int l, int e) { return {8 * (l / 16) + e, l % 16}; }
  static constexpr Position c(int l, int r) { return Mfma16x16x16::c(l, r); }
};

struct Mfma32x32x16Gfx950 {
  static constexpr int kLanes = 64;
  static constexpr int kRows = 32, kColumns = 32, kDepth = 16;
  static constexpr int kElementsOfA = 8, kElementsOfB = 8, kElementsOfC = 16;
  static constexpr Position a(int l, int e) { return {l % 32, 8 * (l / 32) + e}; }
  static constexpr Position b(int l, int e) { return {8 * (l / 32) + e, l % 32}; }
  static constexpr Position c(int l, int r) { return Mfma32x32x8::c(l, r); }
};

/// Lanes 16-31 have the same elements of A and B as lanes 0-15.
struct Wmma16x16x16Gfx11 {
  static constexpr int kLanes = 32;
  static constexpr int kRows = 16, kColumns = 16, kDepth = 16;
  static constexpr int kElementsOfA = 16, kElementsOfB = 16, kElementsOfC = 8;
  static constexpr Position a(int l, int e) { return {l % 16, e}; }
  static constexpr Position b(int l, int e) { return {e, l % 16}; }
  static constexpr Position c(int l, int r) { return {2 * r + l / 16, l % 16}; }
};

struct Wmma16x16x16Gfx12 {
  static constexpr int kLanes = 32;
  static constexpr int kRows = 16, kColumns = 16, kDepth = 16;
  static constexpr int kElementsOfA = 8, kElementsOfB = 8, kElementsOfC = 8;
  static constexpr Position a(int l, int e) { return {l % 16, 8 * (e / 4) + 4 * (l / 16) + e % 4}; }
  static constexpr Position b(int l, int e) { return {8 * (e / 4) + 4 * (l / 16) + e % 4, l % 16}; }
  static constexpr Position c(int l, int r) { return {8 * (l / 16) + r, l % 16}; }
};

struct Mma16x8x16 {
  static constexpr int kLanes = 32;
  static constexpr int kRows = 16, kColumns = 8, kDepth = 16;
  static constexpr int kElementsOfA = 8, kElementsOfB = 4, kElementsOfC = 4;
  static constexpr Position a(int l, int e) {
    return {l / 4 + 8 * (e / 2 % 2), 2 * (l % 4) + e % 2 + 8 * (e / 4)};
  }
  static constexpr Position b(int l, int e) { return {2 * (l % 4) + e % 2 + 8 * (e / 2), l / 4}; }
  static constexpr Position c(int l, int r) { return {l / 4 + 8 * (r / 2), 2 * (l % 4) + r % 2}; }
};

}  // namespace hip_emulator
