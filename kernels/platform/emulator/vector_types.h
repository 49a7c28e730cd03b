// HIP's small vectors.
#pragma once

namespace hip_emulator {

struct dim3 {
  unsigned x;
  unsigned y;
  unsigned z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

struct uint3 {
  unsigned x;
  unsigned y;
  unsigned z;
};
struct alignas(8) float2 {
  float x;
  float y;
};
struct alignas(16) float4 {
  float x;
  float y;
  float z;
  float w;
};
struct alignas(8) uint2 {
  unsigned x;
  unsigned y;
};
struct alignas(16) uint4 {
  unsigned x;
  unsigned y;
  unsigned z;
  unsigned w;
};
struct alignas(16) int4 {
  int x;
  int y;
  int z;
  int w;
};

constexpr float2 make_float2(float x, float y) { return {x, y}; }
constexpr float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
constexpr uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
constexpr uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
constexpr int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }

}  // namespace hip_emulator
