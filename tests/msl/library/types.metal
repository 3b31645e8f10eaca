// Type names in all namespaces, sizes, as_type, and the macros, all known while compiling.
#include <metal_stdlib>
#include <simd/simd.h>

static_assert(sizeof(uchar) == 1 && sizeof(ushort) == 2 && sizeof(uint) == 4 && sizeof(ulong) == 8, "scalars");
static_assert(sizeof(size_t) == 8 && sizeof(ptrdiff_t) == 8 && sizeof(int8_t) == 1 && sizeof(uint64_t) == 8, "scalars");
static_assert(sizeof(float3) == 16 && sizeof(packed_float3) == 12 && alignof(packed_float3) == 4, "vectors");
static_assert(sizeof(float3x3) == 48 && sizeof(half2x4) == 16 && sizeof(bfloat4) == 8, "matrices");
static_assert(metal::is_same_v<metal::float4, float4> && metal::is_same_v<metal::uint, uint>, "namespace metal");
static_assert(metal::is_same_v<simd::float4, float4> && metal::is_same_v<simd::half3x3, half3x3>, "namespace simd");
static_assert(metal::is_same_v<simd_float4, float4> && metal::is_same_v<vector_uint2, uint2>, "simd names");
static_assert(metal::is_same_v<matrix_float4x4, float4x4> && metal::is_same_v<simd_half2x3, half2x3>, "simd names");
static_assert(metal::is_same_v<metal::vec<float, 4>, float4> && metal::is_same_v<metal::matrix<half, 2, 3>, half2x3>, "templates");
static_assert(metal::is_same_v<metal::packed_vec<char, 3>, packed_char3>, "templates");

static_assert(as_type<uint>(1.0f) == 0x3f800000u && as_type<float>(0x40000000u) == 2.0f, "as_type");
static_assert(as_type<ushort>(1.0h) == 0x3c00 && as_type<ushort>(1.0bf) == 0x3f80, "as_type");
static_assert(metal::as_type<int>(-1.0f) == int(0xbf800000), "as_type");

static_assert(INFINITY > FLT_MAX && HUGE_VALF == INFINITY && NAN != NAN && -INFINITY < -MAXFLOAT, "float limits");
static_assert(MAXHALF == 65504.0h && HUGE_VALH > MAXHALF && HALF_MIN > 0.0h && HALF_EPSILON == 0.0009765625h, "half limits");
static_assert(FLT_EPSILON == 1.1920929e-7f && FLT_MIN == 1.17549435e-38f && FLT_RADIX == 2 && FLT_MANT_DIG == 24, "float limits");
static_assert(INT_MAX == 2147483647 && INT_MIN < 0 && UINT_MAX == ~0u && LONG_MIN < LONG_MAX && ULONG_MAX == ~0ul, "integers");
static_assert(CHAR_BIT == 8 && SHRT_MIN == -32768 && USHRT_MAX == 65535 && UINT8_MAX == 255 && INT64_MAX > INT32_MAX, "integers");
static_assert(M_PI_F > 3.14159f && M_PI_F < 3.1416f && M_PI_H == 3.140625h && M_SQRT1_2_F < M_LN2_F + 0.1f, "constants");
static_assert(metal::is_same_v<decltype(M_E_F), float> && metal::is_same_v<decltype(M_E_H), half>, "constants");
static_assert(metal::is_same_v<decltype(M_LOG2E_BF), bfloat> && metal::is_same_v<decltype(INFINITY), float>, "constants");
constant float greatest = INFINITY;
constant float table[3] = {-INFINITY, M_PI_F, FLT_MAX};

METAL_FUNC float always_inlined(float x) { return x + greatest; }

kernel void uses(device metal::float4* p [[buffer(0)]], device packed_float3* q [[buffer(1)]], device float3* r [[buffer(2)]]) {
  p[0].x = always_inlined(p[0].y) + table[1];
  q[0] = r[0];
  r[1] = q[1];
  r[2] = q[2] * 2.0f;
  // Operators of the library's enumerations are found without `using namespace metal`.
  metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup | metal::mem_flags::mem_device);
  metal::uint u = as_type<metal::uint>(p[0].x);
  p[1] = as_type<float4>(uint4(u));
  p[2].xy = float2(as_type<half2>(u));
}
