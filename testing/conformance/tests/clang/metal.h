// What the files of `tests/exec` that name clang as their oracle use of Metal, for clang as C++.
#pragma once
#include <array>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#define kernel
#define device
#define thread
#define threadgroup
#define constant const

using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
using ulong = unsigned long;

#define VECTORS(T) \
    typedef T T##2 __attribute__((ext_vector_type(2))); \
    typedef T T##3 __attribute__((ext_vector_type(3))); \
    typedef T T##4 __attribute__((ext_vector_type(4)));
VECTORS(char) VECTORS(uchar) VECTORS(short) VECTORS(ushort) VECTORS(int) VECTORS(uint) VECTORS(long) VECTORS(ulong)
VECTORS(float)
#undef VECTORS

template <typename T, int N> using vec = T __attribute__((ext_vector_type(N)));

// C++ has no constructors of vectors: the components of all arguments, or the only number for each.
template <typename V> struct Components {
    V value;
    uint filled = 0;
    template <typename T, int N> void add(vec<T, N> more) {
        for (int n = 0; n < N; n++) value[filled++] = more[n];
    }
    template <typename T> void add(T number) { value[filled++] = number; }
};
template <typename V, typename... A> V vector_of(A... arguments) {
    Components<V> components;
    (components.add(arguments), ...);
    return components.filled == 1 ? (V)components.value[0] : components.value;
}
#define char2(...) vector_of<char2>(__VA_ARGS__)
#define char3(...) vector_of<char3>(__VA_ARGS__)
#define char4(...) vector_of<char4>(__VA_ARGS__)
#define uchar2(...) vector_of<uchar2>(__VA_ARGS__)
#define uchar3(...) vector_of<uchar3>(__VA_ARGS__)
#define uchar4(...) vector_of<uchar4>(__VA_ARGS__)
#define short2(...) vector_of<short2>(__VA_ARGS__)
#define short3(...) vector_of<short3>(__VA_ARGS__)
#define short4(...) vector_of<short4>(__VA_ARGS__)
#define ushort2(...) vector_of<ushort2>(__VA_ARGS__)
#define ushort3(...) vector_of<ushort3>(__VA_ARGS__)
#define ushort4(...) vector_of<ushort4>(__VA_ARGS__)
#define int2(...) vector_of<int2>(__VA_ARGS__)
#define int3(...) vector_of<int3>(__VA_ARGS__)
#define int4(...) vector_of<int4>(__VA_ARGS__)
#define uint2(...) vector_of<uint2>(__VA_ARGS__)
#define uint3(...) vector_of<uint3>(__VA_ARGS__)
#define uint4(...) vector_of<uint4>(__VA_ARGS__)
#define long2(...) vector_of<long2>(__VA_ARGS__)
#define long3(...) vector_of<long3>(__VA_ARGS__)
#define long4(...) vector_of<long4>(__VA_ARGS__)
#define ulong2(...) vector_of<ulong2>(__VA_ARGS__)
#define ulong3(...) vector_of<ulong3>(__VA_ARGS__)
#define ulong4(...) vector_of<ulong4>(__VA_ARGS__)
#define float2(...) vector_of<float2>(__VA_ARGS__)
#define float3(...) vector_of<float3>(__VA_ARGS__)
#define float4(...) vector_of<float4>(__VA_ARGS__)

#define M_PI_F 3.14159265358979323846f

namespace metal {

using std::array, std::conditional_t, std::enable_if_t, std::is_same, std::is_same_v, std::numeric_limits;
using std::is_floating_point_v, std::is_integral, std::is_integral_v;
using std::extent, std::extent_v, std::integral_constant, std::is_array, std::is_array_v, std::rank, std::rank_v;
using std::remove_all_extents_t, std::remove_extent_t, std::true_type, std::false_type;

template <typename T> T min(T a, T b) { return b < a ? b : a; }
template <typename T> T max(T a, T b) { return a < b ? b : a; }
template <typename T> T clamp(T x, T low, T high) { return min(max(x, low), high); }
template <typename T, typename U> T as_type(U value) {
    static_assert(sizeof(T) == sizeof(U), "as_type keeps the size");
    T result;
    std::memcpy(&result, &value, sizeof(T));
    return result;
}

}  // namespace metal
