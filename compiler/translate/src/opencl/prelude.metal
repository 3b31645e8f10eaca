//@ atomic_add atomic_sub atomic_and atomic_or atomic_xor atomic_min atomic_max: for N in add sub and or xor min max, for S in device threadgroup, for T in int uint
inline $T atomic_$N(volatile $S $T* p, $T v) {
    return atomic_fetch_$N_explicit((volatile $S atomic_$T*)p, v, memory_order_relaxed);
}
//@ atomic_inc: for S in device threadgroup, for T in int uint
inline $T atomic_inc(volatile $S $T* p) {
    return atomic_fetch_add_explicit((volatile $S atomic_$T*)p, 1, memory_order_relaxed);
}
//@ atomic_dec: for S in device threadgroup, for T in int uint
inline $T atomic_dec(volatile $S $T* p) {
    return atomic_fetch_sub_explicit((volatile $S atomic_$T*)p, 1, memory_order_relaxed);
}
//@ atomic_xchg: for S in device threadgroup
inline int atomic_xchg(volatile $S int* p, int v) {
    return atomic_exchange_explicit((volatile $S atomic_int*)p, v, memory_order_relaxed);
}
inline uint atomic_xchg(volatile $S uint* p, uint v) {
    return atomic_exchange_explicit((volatile $S atomic_uint*)p, v, memory_order_relaxed);
}
inline float atomic_xchg(volatile $S float* p, float v) {
    return as_type<float>(atomic_exchange_explicit((volatile $S atomic_uint*)p, as_type<uint>(v), memory_order_relaxed));
}
//@ atomic_cmpxchg: for S in device threadgroup, for T in int uint
inline $T atomic_cmpxchg(volatile $S $T* p, $T expected, $T v) {
    $T old = expected;
    while (!atomic_compare_exchange_weak_explicit((volatile $S atomic_$T*)p, &old, v, memory_order_relaxed,
                                                  memory_order_relaxed) &&
           old == expected) {
    }
    return old;
}
//@ image_coordinates
// Where a texel is: integers count texels, the middle of which a sampler reads.
inline float cl_place(int at) { return float(at) + 0.5f; }
inline float cl_place(float at) { return at; }
inline float2 cl_place(int2 at) { return float2(at) + 0.5f; }
inline float2 cl_place(float2 at) { return at; }
inline float3 cl_place(int4 at) { return float3(at.xyz) + 0.5f; }
inline float3 cl_place(float4 at) { return at.xyz; }
inline uint cl_texel(int at) { return uint(at); }
inline uint2 cl_texel(int2 at) { return uint2(at); }
inline uint3 cl_texel(int4 at) { return uint3(at.xyz); }
//@ read_imagef read_imagei read_imageui: for N in read_imagef read_imagei read_imageui, with image_coordinates
template <typename I, typename C> inline auto $N(I image, sampler s, C at) {
    return image.sample(s, cl_place(at));
}
template <typename I, typename C> inline auto $N(I image, C at) {
    return image.read(cl_texel(at));
}
//@ write_imagef write_imagei write_imageui: for N in write_imagef write_imagei write_imageui, with image_coordinates
template <typename I, typename C, typename V> inline void $N(I image, C at, V value) {
    image.write(value, cl_texel(at));
}
//@ get_image_width get_image_height get_image_depth: for N in width height depth
template <typename I> inline auto get_image_$N(I image) {
    return int(image.get_$N());
}
//@ get_image_dim
template <typename I> inline auto get_image_dim(I image) {
    return int2(image.get_width(), image.get_height());
}
//@ degrees
template <typename T> inline T degrees(T x) {
    return x * T(57.29577951308232f);
}
//@ radians
template <typename T> inline T radians(T x) {
    return x * T(0.017453292519943295f);
}
//@ native_recip half_recip: for N in native_recip half_recip
template <typename T> inline T $N(T x) {
    return T(1) / x;
}
//@ native_divide half_divide: for N in native_divide half_divide
// Numbers of other types are converted, as each built-in function of OpenCL C has a form for `float`.
inline float $N(float x, float y) {
    return x / y;
}
template <typename T> inline T $N(T x, T y) {
    return x / y;
}
//@ mul24
template <typename T> inline T mul24(T x, T y) {
    return x * y;
}
//@ mad24
template <typename T> inline T mad24(T x, T y, T z) {
    return x * y + z;
}
//@ nan: each float(uint)
inline float nan(uint payload) {
    return as_type<float>(0x7fc00000u | (payload & 0x3fffffu));
}
//@ prefetch
template <typename P> inline void prefetch(P, size_t) {}
//@ bitselect
template <typename T> inline T bitselect(T a, T b, T c) {
    return (a & ~c) | (b & c);
}
template <typename T, typename U, typename V>
inline enable_if_t<is_integral<T>::value && is_integral<U>::value && is_integral<V>::value, decltype(T() | U() | V())>
bitselect(T a, U b, V c) {
    return (a & ~c) | (b & c);
}
inline float bitselect(float a, float b, float c) {
    return as_type<float>(bitselect(as_type<uint>(a), as_type<uint>(b), as_type<uint>(c)));
}
template <int N> inline vec<float, N> bitselect(vec<float, N> a, vec<float, N> b, vec<float, N> c) {
    return as_type<vec<float, N>>(bitselect(as_type<vec<uint, N>>(a), as_type<vec<uint, N>>(b), as_type<vec<uint, N>>(c)));
}
//@ shuffle
template <typename T, int N, typename M, int K> inline vec<T, K> shuffle(vec<T, N> x, vec<M, K> mask) {
    vec<T, K> result;
    for (int i = 0; i < K; i++) {
        result[i] = x[mask[i] & M(N - 1)];
    }
    return result;
}
//@ shuffle2
template <typename T, int N, typename M, int K> inline vec<T, K> shuffle2(vec<T, N> x, vec<T, N> y, vec<M, K> mask) {
    vec<T, K> result;
    for (int i = 0; i < K; i++) {
        int at = int(mask[i] & M(2 * N - 1));
        result[i] = at < N ? x[at] : y[at - N];
    }
    return result;
}
//@ cl_sat
// The nearest value that T has; 0 for NaN. T is the type of a component.
template <typename T, typename S> inline enable_if_t<is_integral<S>::value, T> cl_sat(S x) {
    constexpr T least = numeric_limits<T>::min(), most = numeric_limits<T>::max();
    if (x < S(0)) {
        return is_unsigned<T>::value ? T(0) : long(x) < long(least) ? least : T(x);
    }
    return ulong(x) > ulong(most) ? most : T(x);
}
template <typename T, typename S> inline enable_if_t<is_floating_point<S>::value, T> cl_sat(S x) {
    constexpr T least = numeric_limits<T>::min(), most = numeric_limits<T>::max();
    return isnan(x) ? T(0) : x <= S(least) ? least : x >= S(most) ? most : T(x);
}
template <typename T, typename S, int N> inline vec<T, N> cl_sat(vec<S, N> x) {
    vec<T, N> result;
    for (int i = 0; i < N; i++) {
        result[i] = cl_sat<T>(x[i]);
    }
    return result;
}
//@ cl_rounded
// An integer stays as it is.
template <typename S> inline enable_if_t<is_integral<S>::value, S> cl_rte(S x) { return x; }
template <typename S> inline enable_if_t<is_integral<S>::value, S> cl_rtz(S x) { return x; }
template <typename S> inline enable_if_t<is_integral<S>::value, S> cl_rtn(S x) { return x; }
template <typename S> inline enable_if_t<is_integral<S>::value, S> cl_rtp(S x) { return x; }
template <typename S> inline enable_if_t<is_floating_point<S>::value, S> cl_rte(S x) { return rint(x); }
template <typename S> inline enable_if_t<is_floating_point<S>::value, S> cl_rtz(S x) { return trunc(x); }
template <typename S> inline enable_if_t<is_floating_point<S>::value, S> cl_rtn(S x) { return floor(x); }
template <typename S> inline enable_if_t<is_floating_point<S>::value, S> cl_rtp(S x) { return ceil(x); }
template <typename S, int N> inline enable_if_t<is_integral<S>::value, vec<S, N>> cl_rte(vec<S, N> x) { return x; }
template <typename S, int N> inline enable_if_t<is_integral<S>::value, vec<S, N>> cl_rtz(vec<S, N> x) { return x; }
template <typename S, int N> inline enable_if_t<is_integral<S>::value, vec<S, N>> cl_rtn(vec<S, N> x) { return x; }
template <typename S, int N> inline enable_if_t<is_integral<S>::value, vec<S, N>> cl_rtp(vec<S, N> x) { return x; }
template <typename S, int N> inline enable_if_t<is_floating_point<S>::value, vec<S, N>> cl_rte(vec<S, N> x) { return rint(x); }
template <typename S, int N> inline enable_if_t<is_floating_point<S>::value, vec<S, N>> cl_rtz(vec<S, N> x) { return trunc(x); }
template <typename S, int N> inline enable_if_t<is_floating_point<S>::value, vec<S, N>> cl_rtn(vec<S, N> x) { return floor(x); }
template <typename S, int N> inline enable_if_t<is_floating_point<S>::value, vec<S, N>> cl_rtp(vec<S, N> x) { return ceil(x); }
//@ cl_float_toward
// The 24 leading bits of an integer, and the next float if the rest is to be rounded away from zero.
inline float cl_float_toward(ulong magnitude, bool is_away) {
    int drop = max(40 - int(clz(magnitude)), 0);
    ulong kept = drop == 0 ? magnitude : magnitude >> ulong(drop) << ulong(drop);
    float x = float(kept);
    return is_away && kept != magnitude ? nextafter(x, INFINITY) : x;
}
template <typename S> inline ulong cl_magnitude(S x) {
    return x < S(0) ? ulong(0) - ulong(long(x)) : ulong(x);
}
template <typename S> inline enable_if_t<is_integral<S>::value, float> cl_float_rtz(S x) {
    return x < S(0) ? -cl_float_toward(cl_magnitude(x), false) : cl_float_toward(ulong(x), false);
}
template <typename S> inline enable_if_t<is_integral<S>::value, float> cl_float_rtn(S x) {
    return x < S(0) ? -cl_float_toward(cl_magnitude(x), true) : cl_float_toward(ulong(x), false);
}
template <typename S> inline enable_if_t<is_integral<S>::value, float> cl_float_rtp(S x) {
    return x < S(0) ? -cl_float_toward(cl_magnitude(x), false) : cl_float_toward(ulong(x), true);
}
template <typename S> inline enable_if_t<is_floating_point<S>::value, float> cl_float_rtz(S x) { return x; }
template <typename S> inline enable_if_t<is_floating_point<S>::value, float> cl_float_rtn(S x) { return x; }
template <typename S> inline enable_if_t<is_floating_point<S>::value, float> cl_float_rtp(S x) { return x; }
template <typename S, int N> inline vec<float, N> cl_float_rtz(vec<S, N> x) {
    vec<float, N> result;
    for (int i = 0; i < N; i++) {
        result[i] = cl_float_rtz(x[i]);
    }
    return result;
}
template <typename S, int N> inline vec<float, N> cl_float_rtn(vec<S, N> x) {
    vec<float, N> result;
    for (int i = 0; i < N; i++) {
        result[i] = cl_float_rtn(x[i]);
    }
    return result;
}
template <typename S, int N> inline vec<float, N> cl_float_rtp(vec<S, N> x) {
    vec<float, N> result;
    for (int i = 0; i < N; i++) {
        result[i] = cl_float_rtp(x[i]);
    }
    return result;
}
//@ select
// Numbers are chosen by whether the last argument is zero, components by its sign.
template <typename T, typename C> inline T cl_select(T a, T b, C c) {
    return c ? b : a;
}
template <typename T, typename U, typename C>
inline enable_if_t<is_arithmetic<T>::value && is_arithmetic<U>::value, decltype(T() + U())>
cl_select(T a, U b, C c) {
    return c ? b : a;
}
template <typename T, typename C, int N> inline vec<T, N> cl_select(vec<T, N> a, vec<T, N> b, vec<C, N> c) {
    return metal::select(a, b, (c >> C(8 * sizeof(C) - 1)) != C(0));
}
template <typename T, int N> inline vec<T, N> cl_select(vec<T, N> a, vec<T, N> b, vec<bool, N> c) {
    return metal::select(a, b, c);
}
//@ cl_choose
// `?:` of vectors: by the sign of each component.
template <typename C, typename T, int N> inline vec<T, N> cl_choose(vec<C, N> c, vec<T, N> a, vec<T, N> b) {
    return metal::select(b, a, (c >> C(8 * sizeof(C) - 1)) != C(0));
}
template <typename C, typename T, int N, typename S> inline vec<T, N> cl_choose(vec<C, N> c, vec<T, N> a, S b) {
    return cl_choose(c, a, vec<T, N>(b));
}
template <typename C, typename T, int N, typename S> inline vec<T, N> cl_choose(vec<C, N> c, S a, vec<T, N> b) {
    return cl_choose(c, vec<T, N>(a), b);
}
template <typename C, int N> inline vec<float, N> cl_choose(vec<C, N> c, float a, float b) {
    return cl_choose(c, vec<float, N>(a), vec<float, N>(b));
}
template <typename C, int N> inline vec<int, N> cl_choose(vec<C, N> c, int a, int b) {
    return cl_choose(c, vec<int, N>(a), vec<int, N>(b));
}
//@ cl_flags
// What macros need that are used with numbers and vectors.
template <typename T> inline bool cl_true(T x) {
    return bool(x);
}
template <typename T, int N> inline vec<bool, N> cl_true(vec<T, N> x) {
    return x != T(0);
}
inline int cl_flags(bool x) {
    return x;
}
template <int N> inline vec<int, N> cl_flags(vec<bool, N> x) {
    return -vec<int, N>(x);
}
template <typename T> inline bool cl_test(T x) {
    return bool(x);
}
template <typename T, int N> inline vec<bool, N> cl_test(vec<T, N> x) {
    return (x >> T(8 * sizeof(T) - 1)) != T(0);
}
//@ cl_any
template <typename T> inline int cl_any(T x) {
    return x < T(0);
}
template <typename T, int N> inline int cl_any(vec<T, N> x) {
    return metal::any(x < T(0));
}
template <typename T> inline int cl_all(T x) {
    return x < T(0);
}
template <typename T, int N> inline int cl_all(vec<T, N> x) {
    return metal::all(x < T(0));
}
//@ isequal
// 1 for numbers, -1 in each component of vectors.
inline int isequal(float x, float y) {
    return x == y;
}
template <int N> inline vec<int, N> isequal(vec<float, N> x, vec<float, N> y) {
    return -vec<int, N>(x == y);
}
//@ isnotequal
// 1 for numbers, -1 in each component of vectors.
inline int isnotequal(float x, float y) {
    return x != y;
}
template <int N> inline vec<int, N> isnotequal(vec<float, N> x, vec<float, N> y) {
    return -vec<int, N>(x != y);
}
//@ isgreater
// 1 for numbers, -1 in each component of vectors.
inline int isgreater(float x, float y) {
    return x > y;
}
template <int N> inline vec<int, N> isgreater(vec<float, N> x, vec<float, N> y) {
    return -vec<int, N>(x > y);
}
//@ isgreaterequal
// 1 for numbers, -1 in each component of vectors.
inline int isgreaterequal(float x, float y) {
    return x >= y;
}
template <int N> inline vec<int, N> isgreaterequal(vec<float, N> x, vec<float, N> y) {
    return -vec<int, N>(x >= y);
}
//@ isless
// 1 for numbers, -1 in each component of vectors.
inline int isless(float x, float y) {
    return x < y;
}
template <int N> inline vec<int, N> isless(vec<float, N> x, vec<float, N> y) {
    return -vec<int, N>(x < y);
}
//@ islessequal
// 1 for numbers, -1 in each component of vectors.
inline int islessequal(float x, float y) {
    return x <= y;
}
template <int N> inline vec<int, N> islessequal(vec<float, N> x, vec<float, N> y) {
    return -vec<int, N>(x <= y);
}
//@ islessgreater
// 1 for numbers, -1 in each component of vectors.
inline int islessgreater(float x, float y) {
    return (x < y) || (x > y);
}
template <int N> inline vec<int, N> islessgreater(vec<float, N> x, vec<float, N> y) {
    return -vec<int, N>((x < y) || (x > y));
}
//@ event_t
using event_t = int;
//@ wait_group_events
template <typename E> inline void wait_group_events(int n, E events) {
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
}
//@ async_work_group_copy: with event_t
// The threads of a group share the elements; they are there after the next barrier, as after a wait. Each
// thread copies the elements of its opposite, so that a use before the wait is a race that can be found.
template <typename T>
inline int async_work_group_copy(uint rank, uint3 size, threadgroup T* to, device const T* from, size_t n, int event) {
    for (size_t all = size.x * size.y * size.z, i = all - 1 - rank; i < n; i += all) {
        to[i] = from[i];
    }
    return event;
}
template <typename T>
inline int async_work_group_copy(uint rank, uint3 size, device T* to, threadgroup const T* from, size_t n, int event) {
    for (size_t all = size.x * size.y * size.z, i = all - 1 - rank; i < n; i += all) {
        to[i] = from[i];
    }
    return event;
}
//@ async_work_group_strided_copy: with event_t
template <typename T>
inline int async_work_group_strided_copy(uint rank, uint3 size, threadgroup T* to, device const T* from, size_t n,
                                         size_t stride, int event) {
    for (size_t all = size.x * size.y * size.z, i = all - 1 - rank; i < n; i += all) {
        to[i] = from[i * stride];
    }
    return event;
}
template <typename T>
inline int async_work_group_strided_copy(uint rank, uint3 size, device T* to, threadgroup const T* from, size_t n,
                                         size_t stride, int event) {
    for (size_t all = size.x * size.y * size.z, i = all - 1 - rank; i < n; i += all) {
        to[i * stride] = from[i];
    }
    return event;
}
//@ sincos: for S in thread device threadgroup
template <typename T> inline T cl_sincos(T x, $S T* c) {
    *c = cos(x);
    return sin(x);
}
//@ fract: for S in thread device threadgroup
template <typename T> inline T cl_fract(T x, $S T* whole) {
    *whole = floor(x);
    return metal::select(metal::fract(x), copysign(T(0), x), isinf(x));
}
//@ modf: for S in thread device threadgroup
template <typename T> inline T cl_modf(T x, $S T* whole) {
    T part, rest = metal::modf(x, part);
    *whole = part;
    return rest;
}
//@ frexp: for S in thread device threadgroup
inline float cl_frexp(float x, $S int* e) {
    int exponent;
    float mantissa = metal::frexp(x, exponent);
    *e = exponent;
    return mantissa;
}
template <int N> inline vec<float, N> cl_frexp(vec<float, N> x, $S vec<int, N>* e) {
    vec<int, N> exponent;
    vec<float, N> mantissa = metal::frexp(x, exponent);
    *e = exponent;
    return mantissa;
}
//@ remquo: with remainder, for S in thread device threadgroup
// Of the quotient the sign and the low seven bits.
inline float remquo(float x, float y, $S int* quotient) {
    float b = fabs(y), rest = remainder(x, y);
    *quotient = 0;
    if (isfinite(x) && b > 0.0f && b < 0x1p120f) {
        int part = int(rint((fmod(fabs(x), 128.0f * b) - (signbit(x) ? -rest : rest)) / b)) & 127;
        *quotient = signbit(x) == signbit(y) ? part : -part;
    }
    return rest;
}
template <int N> inline vec<float, N> remquo(vec<float, N> x, vec<float, N> y, $S vec<int, N>* quotient) {
    vec<float, N> result;
    vec<int, N> parts;
    for (int i = 0; i < N; i++) {
        int part;
        result[i] = remquo(x[i], y[i], &part);
        parts[i] = part;
    }
    *quotient = parts;
    return result;
}
//@ lgamma_r: with lgamma, for S in thread device threadgroup
inline float lgamma_r(float x, $S int* sign) {
    *sign = signbit(x) && (x == 0.0f || fract(0.5f * floor(x)) != 0.0f) ? -1 : 1;
    return lgamma(x);
}
template <int N> inline vec<float, N> lgamma_r(vec<float, N> x, $S vec<int, N>* sign) {
    vec<float, N> result;
    vec<int, N> signs;
    for (int i = 0; i < N; i++) {
        int one;
        result[i] = lgamma_r(x[i], &one);
        signs[i] = one;
    }
    *sign = signs;
    return result;
}
//@ vload2
template <typename P> inline auto vload2(size_t i, P p) {
    return vec<remove_cv_t<remove_reference_t<decltype(p[0])>>, 2>(p[2 * i], p[2 * i + 1]);
}
//@ vstore2
template <typename T, typename P> inline void vstore2(T v, size_t i, P p) {
    p[2 * i] = v.x;
    p[2 * i + 1] = v.y;
}
//@ vload3
template <typename P> inline auto vload3(size_t i, P p) {
    return vec<remove_cv_t<remove_reference_t<decltype(p[0])>>, 3>(p[3 * i], p[3 * i + 1], p[3 * i + 2]);
}
//@ vstore3
template <typename T, typename P> inline void vstore3(T v, size_t i, P p) {
    p[3 * i] = v.x;
    p[3 * i + 1] = v.y;
    p[3 * i + 2] = v.z;
}
//@ vload4
template <typename P> inline auto vload4(size_t i, P p) {
    return vec<remove_cv_t<remove_reference_t<decltype(p[0])>>, 4>(p[4 * i], p[4 * i + 1], p[4 * i + 2], p[4 * i + 3]);
}
//@ vstore4
template <typename T, typename P> inline void vstore4(T v, size_t i, P p) {
    p[4 * i] = v.x;
    p[4 * i + 1] = v.y;
    p[4 * i + 2] = v.z;
    p[4 * i + 3] = v.w;
}
//@ vload_half vloada_half: for N in vload_half vloada_half
template <typename P> inline float $N(size_t i, P p) {
    return float(p[i]);
}
//@ vload_half2
template <typename P> inline float2 vload_half2(size_t i, P p) {
    return float2(p[2 * i], p[2 * i + 1]);
}
//@ vstore_half2 vstore_half2_rte: for N in vstore_half2 vstore_half2_rte
template <typename P> inline void $N(float2 v, size_t i, P p) {
    p[2 * i] = half(v.x);
    p[2 * i + 1] = half(v.y);
}
//@ vloada_half2
template <typename P> inline float2 vloada_half2(size_t i, P p) {
    return float2(p[2 * i], p[2 * i + 1]);
}
//@ vstorea_half2 vstorea_half2_rte: for N in vstorea_half2 vstorea_half2_rte
template <typename P> inline void $N(float2 v, size_t i, P p) {
    p[2 * i] = half(v.x);
    p[2 * i + 1] = half(v.y);
}
//@ vload_half3
template <typename P> inline float3 vload_half3(size_t i, P p) {
    return float3(p[3 * i], p[3 * i + 1], p[3 * i + 2]);
}
//@ vstore_half3 vstore_half3_rte: for N in vstore_half3 vstore_half3_rte
template <typename P> inline void $N(float3 v, size_t i, P p) {
    p[3 * i] = half(v.x);
    p[3 * i + 1] = half(v.y);
    p[3 * i + 2] = half(v.z);
}
//@ vloada_half3
template <typename P> inline float3 vloada_half3(size_t i, P p) {
    return float3(p[4 * i], p[4 * i + 1], p[4 * i + 2]);
}
//@ vstorea_half3 vstorea_half3_rte: for N in vstorea_half3 vstorea_half3_rte
template <typename P> inline void $N(float3 v, size_t i, P p) {
    p[4 * i] = half(v.x);
    p[4 * i + 1] = half(v.y);
    p[4 * i + 2] = half(v.z);
}
//@ vload_half4
template <typename P> inline float4 vload_half4(size_t i, P p) {
    return float4(p[4 * i], p[4 * i + 1], p[4 * i + 2], p[4 * i + 3]);
}
//@ vstore_half4 vstore_half4_rte: for N in vstore_half4 vstore_half4_rte
template <typename P> inline void $N(float4 v, size_t i, P p) {
    p[4 * i] = half(v.x);
    p[4 * i + 1] = half(v.y);
    p[4 * i + 2] = half(v.z);
    p[4 * i + 3] = half(v.w);
}
//@ vloada_half4
template <typename P> inline float4 vloada_half4(size_t i, P p) {
    return float4(p[4 * i], p[4 * i + 1], p[4 * i + 2], p[4 * i + 3]);
}
//@ vstorea_half4 vstorea_half4_rte: for N in vstorea_half4 vstorea_half4_rte
template <typename P> inline void $N(float4 v, size_t i, P p) {
    p[4 * i] = half(v.x);
    p[4 * i + 1] = half(v.y);
    p[4 * i + 2] = half(v.z);
    p[4 * i + 3] = half(v.w);
}
//@ vstore_half vstorea_half vstore_half_rte: for N in vstore_half vstorea_half vstore_half_rte
template <typename P> inline void $N(float v, size_t i, P p) {
    p[i] = half(v);
}
//@ cl_dot
// Of numbers.
inline float dot(float x, float y) {
    return x * y;
}
//@ cl_length
// Of numbers.
inline float length(float x) {
    return fabs(x);
}
//@ cl_distance
// Of numbers.
inline float distance(float x, float y) {
    return fabs(x - y);
}
//@ cl_normalize
// Of numbers.
inline float normalize(float x) {
    return sign(x);
}
//@ cl_cross
inline float4 cross(float4 x, float4 y) {
    return float4(cross(x.xyz, y.xyz), 0.0f);
}
//@ cl_fast_length
namespace metal { namespace fast { inline float length(float x) { return fabs(x); } } }
//@ cl_fast_distance
namespace metal { namespace fast { inline float distance(float x, float y) { return fabs(x - y); } } }
//@ cl_fast_normalize
namespace metal { namespace fast { inline float normalize(float x) { return sign(x); } } }
//@ cl_pointer
// A pointer that converts to whichever pointer is wanted, as in C.
template <typename P> struct cl_pointer_value {
    P p;
    template <typename T> operator T() const {
        return (T)p;
    }
    template <typename T> bool operator==(T q) const {
        return (T)p == q;
    }
    template <typename T> bool operator!=(T q) const {
        return (T)p != q;
    }
    template <typename T> bool operator<(T q) const {
        return (T)p < q;
    }
    template <typename T> bool operator>(T q) const {
        return (T)p > q;
    }
    template <typename T> bool operator<=(T q) const {
        return (T)p <= q;
    }
    template <typename T> bool operator>=(T q) const {
        return (T)p >= q;
    }
};
template <typename P> inline cl_pointer_value<P> cl_pointer(P p) {
    return {p};
}
