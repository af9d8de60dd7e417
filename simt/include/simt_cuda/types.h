#pragma once

/** CUDA's vector types, dim3 and the built-in coordinates of a device thread. */

inline namespace simt_cuda {

#define SIMT_VECTOR2(Name, Base, Align) \
  struct alignas(Align) Name {          \
    Base x, y;                          \
  };                                    \
  constexpr Name make_##Name(Base x, Base y) { return {x, y}; }
#define SIMT_VECTOR3(Name, Base) \
  struct Name {                  \
    Base x, y, z;                \
  };                             \
  constexpr Name make_##Name(Base x, Base y, Base z) { return {x, y, z}; }
#define SIMT_VECTOR4(Name, Base, Align) \
  struct alignas(Align) Name {          \
    Base x, y, z, w;                    \
  };                                    \
  constexpr Name make_##Name(Base x, Base y, Base z, Base w) { return {x, y, z, w}; }

SIMT_VECTOR2(uchar2, unsigned char, 2)
SIMT_VECTOR4(uchar4, unsigned char, 4)
SIMT_VECTOR2(ushort2, unsigned short, 4)
SIMT_VECTOR4(ushort4, unsigned short, 8)
SIMT_VECTOR2(int2, int, 8)
SIMT_VECTOR3(int3, int)
SIMT_VECTOR4(int4, int, 16)
SIMT_VECTOR2(uint2, unsigned, 8)
SIMT_VECTOR3(uint3, unsigned)
SIMT_VECTOR4(uint4, unsigned, 16)
SIMT_VECTOR2(longlong2, long long, 16)
SIMT_VECTOR2(ulonglong2, unsigned long long, 16)
SIMT_VECTOR2(float2, float, 8)
SIMT_VECTOR4(float4, float, 16)
#undef SIMT_VECTOR2
#undef SIMT_VECTOR3
#undef SIMT_VECTOR4

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned width = 1, unsigned height = 1, unsigned depth = 1) : x(width), y(height), z(depth) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

/** The coordinates of the device thread that runs now on this OS thread; its scheduler sets them on each switch. */
inline constinit thread_local uint3 threadIdx{};
inline constinit thread_local uint3 blockIdx{};
inline constinit thread_local dim3 blockDim{};
inline constinit thread_local dim3 gridDim{};

inline constexpr int warpSize = 32;

}  // namespace simt_cuda
