// Type names. The language's checker knows `vec`, `packed_vec` and `matrix` as templates of its own;
// the declarations tell the parser that these names are types.

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef char int8_t;
typedef uchar uint8_t;
typedef short int16_t;
typedef ushort uint16_t;
typedef int int32_t;
typedef uint uint32_t;
typedef long int64_t;
typedef ulong uint64_t;
typedef long intptr_t;
typedef ulong uintptr_t;
typedef decltype(nullptr) nullptr_t;

namespace metal {
template <typename T, int N> struct vec;
template <typename T, int N> struct packed_vec;
template <typename T, int C, int R = C> struct matrix;

using ::uchar; using ::ushort; using ::uint; using ::ulong; using ::size_t; using ::ptrdiff_t;
using ::int8_t; using ::uint8_t; using ::int16_t; using ::uint16_t;
using ::int32_t; using ::uint32_t; using ::int64_t; using ::uint64_t;
using ::intptr_t; using ::uintptr_t; using ::nullptr_t;
}

#define __AM_VECTORS(T) \
  typedef metal::vec<T, 2> T##2; typedef metal::vec<T, 3> T##3; typedef metal::vec<T, 4> T##4;
#define __AM_PACKED(T) \
  typedef metal::packed_vec<T, 2> packed_##T##2; typedef metal::packed_vec<T, 3> packed_##T##3; \
  typedef metal::packed_vec<T, 4> packed_##T##4;
#define __AM_MATRICES(T, P) \
  typedef metal::matrix<T, 2, 2> P##2x2; typedef metal::matrix<T, 2, 3> P##2x3; typedef metal::matrix<T, 2, 4> P##2x4; \
  typedef metal::matrix<T, 3, 2> P##3x2; typedef metal::matrix<T, 3, 3> P##3x3; typedef metal::matrix<T, 3, 4> P##3x4; \
  typedef metal::matrix<T, 4, 2> P##4x2; typedef metal::matrix<T, 4, 3> P##4x3; typedef metal::matrix<T, 4, 4> P##4x4;
#define __AM_ALL_VECTORS \
  __AM_VECTORS(bool) __AM_VECTORS(char) __AM_VECTORS(uchar) __AM_VECTORS(short) __AM_VECTORS(ushort) \
  __AM_VECTORS(int) __AM_VECTORS(uint) __AM_VECTORS(long) __AM_VECTORS(ulong) \
  __AM_VECTORS(half) __AM_VECTORS(bfloat) __AM_VECTORS(float)
#define __AM_ALL_PACKED \
  __AM_PACKED(bool) __AM_PACKED(char) __AM_PACKED(uchar) __AM_PACKED(short) __AM_PACKED(ushort) \
  __AM_PACKED(int) __AM_PACKED(uint) __AM_PACKED(long) __AM_PACKED(ulong) \
  __AM_PACKED(half) __AM_PACKED(bfloat) __AM_PACKED(float)

__AM_ALL_VECTORS
__AM_ALL_PACKED
__AM_MATRICES(half, half)
__AM_MATRICES(bfloat, bfloat)
__AM_MATRICES(float, float)

namespace metal {
__AM_ALL_VECTORS
__AM_ALL_PACKED
__AM_MATRICES(half, half)
__AM_MATRICES(bfloat, bfloat)
__AM_MATRICES(float, float)
}

// The same bits as another type of the same size.
template <typename T, typename U> constexpr T as_type(U x) { return __am_as_type<T>(x); }

namespace metal {
using ::as_type;

// How a kernel uses a texture or buffer.
enum class access { sample, read, write, read_write };
}

// What kernels that compute tessellation factors store.
struct MTLQuadTessellationFactorsHalf { half edgeTessellationFactor[4]; half insideTessellationFactor[2]; };
struct MTLTriangleTessellationFactorsHalf { half edgeTessellationFactor[3]; half insideTessellationFactor; };

// <simd/simd.h>
#define __AM_SIMD(T) \
  typedef T simd_##T##1; typedef T vector_##T##1; \
  typedef metal::vec<T, 2> simd_##T##2, vector_##T##2; \
  typedef metal::vec<T, 3> simd_##T##3, vector_##T##3; \
  typedef metal::vec<T, 4> simd_##T##4, vector_##T##4; \
  typedef T simd_##T;

__AM_SIMD(char) __AM_SIMD(uchar) __AM_SIMD(short) __AM_SIMD(ushort) __AM_SIMD(int) __AM_SIMD(uint)
__AM_SIMD(long) __AM_SIMD(ulong) __AM_SIMD(half) __AM_SIMD(float)
__AM_MATRICES(float, simd_float)
__AM_MATRICES(float, matrix_float)
__AM_MATRICES(half, simd_half)
__AM_MATRICES(half, matrix_half)

namespace simd {
using namespace metal;
using ::uchar; using ::ushort; using ::uint; using ::ulong;
__AM_ALL_VECTORS
__AM_ALL_PACKED
__AM_MATRICES(half, half)
__AM_MATRICES(float, float)
}

#undef __AM_VECTORS
#undef __AM_PACKED
#undef __AM_MATRICES
#undef __AM_ALL_VECTORS
#undef __AM_ALL_PACKED
#undef __AM_SIMD
