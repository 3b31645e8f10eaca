//@ tex1Dfetch
template <typename T> inline T tex1Dfetch(device const T* texture, int i) {
    return texture[i];
}
// A texture object is the address of its memory.
template <typename T> inline T tex1Dfetch(ulong texture, int i) {
    return ((device const T*)texture)[i];
}
//@ aligned_storage aligned_storage_t
namespace metal {
template <size_t N, size_t A = 16> struct aligned_storage {
    struct type {
        alignas(A) uchar bytes[N];
    };
};
template <size_t N, size_t A = 16> using aligned_storage_t = typename aligned_storage<N, A>::type;
}
//@ char1 uchar1 short1 ushort1 int1 uint1 long1 ulong1 float1: for N in char uchar short ushort int uint long ulong float
struct $N1 {
    $N x;
};
inline $N1 make_$N1($N x) {
    return {x};
}
//@ __syncwarp
inline void __syncwarp(uint mask = 0xffffffff) {
    simdgroup_barrier(mem_flags::mem_threadgroup);
}
//@ shuffled
template <typename T> inline enable_if_t<sizeof(T) != 8 && !is_same<T, bool>::value, T> shuffled(T value, ushort lane) {
    return simd_shuffle(value, lane);
}
template <typename T> inline enable_if_t<sizeof(T) == 8 && is_integral<T>::value, T> shuffled(T value, ushort lane) {
    return as_type<T>(simd_shuffle(as_type<uint2>(value), lane));
}
template <typename T> inline enable_if_t<sizeof(T) == 8 && !is_integral<T>::value, T> shuffled(T value, ushort lane) {
    return simd_shuffle(value, lane);
}
template <typename T> inline enable_if_t<is_same<T, bool>::value, T> shuffled(T value, ushort lane) {
    return simd_shuffle(int(value), lane) != 0;
}
//@ __shfl_sync: needs lane_in_simdgroup, with shuffled
template <typename T> inline T __shfl_sync(uint lane, uint mask, T value, int source, int width = 32) {
    return shuffled(value, ushort((lane & ~uint(width - 1)) | (uint(source) & uint(width - 1))));
}
//@ __shfl_up_sync: needs lane_in_simdgroup, with shuffled
template <typename T> inline T __shfl_up_sync(uint lane, uint mask, T value, uint delta, int width = 32) {
    uint first = lane & ~uint(width - 1);
    return shuffled(value, ushort(lane >= first + delta ? lane - delta : lane));
}
//@ __shfl_down_sync: needs lane_in_simdgroup, with shuffled
template <typename T> inline T __shfl_down_sync(uint lane, uint mask, T value, uint delta, int width = 32) {
    uint last = lane | uint(width - 1);
    return shuffled(value, ushort(lane + delta <= last ? lane + delta : lane));
}
//@ __shfl_xor_sync: needs lane_in_simdgroup, with shuffled
template <typename T> inline T __shfl_xor_sync(uint lane, uint mask, T value, int bits, int width = 32) {
    uint other = lane ^ uint(bits);
    return shuffled(value, ushort(other <= (lane | uint(width - 1)) ? other : lane));
}
//@ __shfl: needs lane_in_simdgroup, with __shfl_sync
template <typename T> inline T __shfl(uint lane, T value, int source, int width = 32) {
    return __shfl_sync(lane, 0xffffffff, value, source, width);
}
//@ __shfl_up: needs lane_in_simdgroup, with __shfl_up_sync
template <typename T> inline T __shfl_up(uint lane, T value, uint delta, int width = 32) {
    return __shfl_up_sync(lane, 0xffffffff, value, delta, width);
}
//@ __shfl_down: needs lane_in_simdgroup, with __shfl_down_sync
template <typename T> inline T __shfl_down(uint lane, T value, uint delta, int width = 32) {
    return __shfl_down_sync(lane, 0xffffffff, value, delta, width);
}
//@ __shfl_xor: needs lane_in_simdgroup, with __shfl_xor_sync
template <typename T> inline T __shfl_xor(uint lane, T value, int bits, int width = 32) {
    return __shfl_xor_sync(lane, 0xffffffff, value, bits, width);
}
//@ __ballot_sync
inline uint __ballot_sync(uint mask, int predicate) {
    return uint(ulong(simd_ballot(predicate != 0))) & mask;
}
//@ __ballot
inline uint __ballot(int predicate) {
    return uint(ulong(simd_ballot(predicate != 0)));
}
//@ __any_sync
inline int __any_sync(uint mask, int predicate) {
    return simd_any(predicate != 0);
}
//@ __all_sync
inline int __all_sync(uint mask, int predicate) {
    return simd_all(predicate != 0);
}
//@ __activemask
inline uint __activemask() {
    return uint(ulong(simd_active_threads_mask()));
}
//@ __reduce_add_sync
template <typename T> inline T __reduce_add_sync(uint mask, T value) {
    return simd_sum(value);
}
//@ __reduce_min_sync
template <typename T> inline T __reduce_min_sync(uint mask, T value) {
    return simd_min(value);
}
//@ __reduce_max_sync
template <typename T> inline T __reduce_max_sync(uint mask, T value) {
    return simd_max(value);
}
//@ __syncthreads_count __syncthreads_or __syncthreads_and: needs sync_scratch threadIdx blockDim
inline int __syncthreads_count(threadgroup atomic_uint& scratch, uint3 threadIdx, uint3 blockDim, int predicate) {
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
        atomic_store_explicit(&scratch, 0, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&scratch, uint(predicate != 0), memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    return int(atomic_load_explicit(&scratch, memory_order_relaxed));
}
inline int __syncthreads_or(threadgroup atomic_uint& scratch, uint3 threadIdx, uint3 blockDim, int predicate) {
    return __syncthreads_count(scratch, threadIdx, blockDim, predicate) != 0;
}
inline int __syncthreads_and(threadgroup atomic_uint& scratch, uint3 threadIdx, uint3 blockDim, int predicate) {
    return __syncthreads_count(scratch, threadIdx, blockDim, predicate) ==
           int(blockDim.x * blockDim.y * blockDim.z);
}
//@ __threadfence __threadfence_system
#define __threadfence() atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device)
#define __threadfence_system() __threadfence()
//@ __threadfence_block
#define __threadfence_block() \
    atomic_thread_fence(mem_flags::mem_device | mem_flags::mem_threadgroup, memory_order_seq_cst, thread_scope_threadgroup)
//@ __ldg __ldcg __ldcs __ldca: for N in __ldg __ldcg __ldcs __ldca, for S in device constant
template <typename T> inline T $N(const $S T* p) {
    return *p;
}
//@ __stcs __stcg: for N in __stcs __stcg
template <typename T, typename V> inline void $N(device T* p, V value) {
    *p = value;
}
//@ assert
#define assert(condition) ((void)0)
//@ atomicAdd: for S in device threadgroup
inline int atomicAdd(volatile $S int* p, int v) {
    return atomic_fetch_add_explicit((volatile $S atomic_int*)p, v, memory_order_relaxed);
}
inline uint atomicAdd(volatile $S uint* p, uint v) {
    return atomic_fetch_add_explicit((volatile $S atomic_uint*)p, v, memory_order_relaxed);
}
inline float atomicAdd(volatile $S float* p, float v) {
    volatile $S atomic_uint* bits = (volatile $S atomic_uint*)p;
    uint old = atomic_load_explicit(bits, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(bits, &old, as_type<uint>(as_type<float>(old) + v),
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
    return as_type<float>(old);
}
//@ atomicSub: for S in device threadgroup, for T in int uint
inline $T atomicSub(volatile $S $T* p, $T v) {
    return atomic_fetch_sub_explicit((volatile $S atomic_$T*)p, v, memory_order_relaxed);
}
//@ atomicMin: with wide_atomicMin, for S in device threadgroup
inline int atomicMin(volatile $S int* p, int v) {
    return atomic_fetch_min_explicit((volatile $S atomic_int*)p, v, memory_order_relaxed);
}
inline uint atomicMin(volatile $S uint* p, uint v) {
    return atomic_fetch_min_explicit((volatile $S atomic_uint*)p, v, memory_order_relaxed);
}
// What a source defines for `double`; a function of its own for `float` fits better.
template <typename T> inline enable_if_t<is_same<T, float>::value, T> atomicMin(volatile $S T* p, float v) {
    volatile $S atomic_uint* bits = (volatile $S atomic_uint*)p;
    uint old = atomic_load_explicit(bits, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(bits, &old, as_type<uint>(fmin(as_type<float>(old), v)),
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
    return as_type<float>(old);
}
//@ atomicMax: with wide_atomicMax, for S in device threadgroup
inline int atomicMax(volatile $S int* p, int v) {
    return atomic_fetch_max_explicit((volatile $S atomic_int*)p, v, memory_order_relaxed);
}
inline uint atomicMax(volatile $S uint* p, uint v) {
    return atomic_fetch_max_explicit((volatile $S atomic_uint*)p, v, memory_order_relaxed);
}
// What a source defines for `double`; a function of its own for `float` fits better.
template <typename T> inline enable_if_t<is_same<T, float>::value, T> atomicMax(volatile $S T* p, float v) {
    volatile $S atomic_uint* bits = (volatile $S atomic_uint*)p;
    uint old = atomic_load_explicit(bits, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(bits, &old, as_type<uint>(fmax(as_type<float>(old), v)),
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
    return as_type<float>(old);
}
//@ wide_atomicMin
inline void atomicMin(volatile device ulong* p, ulong v) {
    atomic_min_explicit((volatile device atomic_ulong*)p, v, memory_order_relaxed);
}
//@ wide_atomicMax
inline void atomicMax(volatile device ulong* p, ulong v) {
    atomic_max_explicit((volatile device atomic_ulong*)p, v, memory_order_relaxed);
}
//@ atomicAnd: for S in device threadgroup, for T in int uint
inline $T atomicAnd(volatile $S $T* p, $T v) {
    return atomic_fetch_and_explicit((volatile $S atomic_$T*)p, v, memory_order_relaxed);
}
//@ atomicOr: for S in device threadgroup, for T in int uint
inline $T atomicOr(volatile $S $T* p, $T v) {
    return atomic_fetch_or_explicit((volatile $S atomic_$T*)p, v, memory_order_relaxed);
}
//@ atomicXor: for S in device threadgroup, for T in int uint
inline $T atomicXor(volatile $S $T* p, $T v) {
    return atomic_fetch_xor_explicit((volatile $S atomic_$T*)p, v, memory_order_relaxed);
}
//@ atomicExch: for S in device threadgroup
inline int atomicExch(volatile $S int* p, int v) {
    return atomic_exchange_explicit((volatile $S atomic_int*)p, v, memory_order_relaxed);
}
inline uint atomicExch(volatile $S uint* p, uint v) {
    return atomic_exchange_explicit((volatile $S atomic_uint*)p, v, memory_order_relaxed);
}
inline float atomicExch(volatile $S float* p, float v) {
    return as_type<float>(
        atomic_exchange_explicit((volatile $S atomic_uint*)p, as_type<uint>(v), memory_order_relaxed));
}
//@ atomicCAS: for S in device threadgroup, for T in int uint
inline $T atomicCAS(volatile $S $T* p, $T expected, $T v) {
    $T old = expected;
    while (!atomic_compare_exchange_weak_explicit((volatile $S atomic_$T*)p, &old, v, memory_order_relaxed,
                                                  memory_order_relaxed) &&
           old == expected) {
    }
    return old;
}
//@ atomicInc: for S in device threadgroup
inline uint atomicInc(volatile $S uint* p, uint last) {
    volatile $S atomic_uint* value = (volatile $S atomic_uint*)p;
    uint old = atomic_load_explicit(value, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(value, &old, old >= last ? 0 : old + 1, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
    return old;
}
//@ atomicDec: for S in device threadgroup
inline uint atomicDec(volatile $S uint* p, uint last) {
    volatile $S atomic_uint* value = (volatile $S atomic_uint*)p;
    uint old = atomic_load_explicit(value, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(value, &old, old == 0 || old > last ? last : old - 1,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
    return old;
}
//@ expf exp2f exp10f logf log2f log10f sqrtf rsqrtf sinf cosf tanf asinf acosf atanf sinhf coshf tanhf asinhf acoshf atanhf fabsf floorf ceilf truncf roundf rintf: for N in exp exp2 exp10 log log2 log10 sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh fabs floor ceil trunc round rint
inline float $Nf(float x) {
    return $N(x);
}
//@ powf fmaxf fminf fmodf atan2f copysignf fdimf: for N in pow fmax fmin fmod atan2 copysign fdim
inline float $Nf(float x, float y) {
    return $N(x, y);
}
//@ fmaf __fmaf_rn __fmaf_rz: for N in fmaf __fmaf_rn __fmaf_rz
inline float $N(float x, float y, float z) {
    return fma(x, y, z);
}
//@ sqrt exp log sin cos tan floor ceil fabs log2 log10 exp2 rsqrt round trunc tanh atan acos asin rint: for N in sqrt exp log sin cos tan floor ceil fabs log2 log10 exp2 rsqrt round trunc tanh atan acos asin rint
template <typename T> inline enable_if_t<is_integral<T>::value, float> $N(T x) {
    return $N(float(x));
}
//@ pow
template <typename T> inline enable_if_t<is_integral<T>::value, float> pow(float x, T y) {
    return pow(x, float(y));
}
//@ max min: for N in max min
template <typename T, typename U>
inline enable_if_t<!is_same<T, U>::value && is_arithmetic<T>::value && is_arithmetic<U>::value, decltype(T() + U())>
$N(T x, U y) {
    using Common = decltype(T() + U());
    return $N(Common(x), Common(y));
}
//@ fmax fmin fmod atan2: for N in fmax fmin fmod atan2
template <typename T, typename U>
inline enable_if_t<!is_same<T, U>::value && is_arithmetic<T>::value && is_arithmetic<U>::value, float> $N(T x, U y) {
    return $N(float(x), float(y));
}
//@ cbrtf: with cbrt
inline float cbrtf(float x) {
    return cbrt(x);
}
//@ log1pf: with log1p
inline float log1pf(float x) {
    return log1p(x);
}
//@ expm1f: with expm1
inline float expm1f(float x) {
    return expm1(x);
}
//@ logbf: with logb
inline float logbf(float x) {
    return logb(x);
}
//@ erff: with erf
inline float erff(float x) {
    return erf(x);
}
//@ erfcf: with erfc
inline float erfcf(float x) {
    return erfc(x);
}
//@ tgammaf: with tgamma
inline float tgammaf(float x) {
    return tgamma(x);
}
//@ lgammaf: with lgamma
inline float lgammaf(float x) {
    return lgamma(x);
}
//@ hypotf: with hypot
inline float hypotf(float x, float y) {
    return hypot(x, y);
}
//@ remainderf: with remainder
inline float remainderf(float x, float y) {
    return remainder(x, y);
}
//@ sincosf sincos __sincosf: for N in sincosf sincos __sincosf, for S in thread device threadgroup
inline void $N(float x, $S float* s, $S float* c) {
    *s = sin(x);
    *c = cos(x);
}
//@ __fdividef __fdiv_rn fdividef: for N in __fdividef __fdiv_rn fdividef
inline float $N(float x, float y) {
    return x / y;
}
//@ __frcp_rn __frsqrt_rn __fsqrt_rn __fsqrt_rd
inline float __frcp_rn(float x) {
    return 1.0f / x;
}
inline float __frsqrt_rn(float x) {
    return rsqrt(x);
}
inline float __fsqrt_rn(float x) {
    return sqrt(x);
}
//@ __fmul_rn __dmul_rn: for N in __fmul_rn __dmul_rn
// Never part of a fused operation.
inline float $N(float x, float y) {
#pragma METAL fp contract(off)
    return x * y;
}
//@ __fadd_rn __dadd_rn: for N in __fadd_rn __dadd_rn
// Never part of a fused operation.
inline float $N(float x, float y) {
#pragma METAL fp contract(off)
    return x + y;
}
//@ __fsub_rn __dsub_rn: for N in __fsub_rn __dsub_rn
// Never part of a fused operation.
inline float $N(float x, float y) {
#pragma METAL fp contract(off)
    return x - y;
}
//@ __mul24 __umul24: for N in __mul24 __umul24
template <typename T, typename U> inline auto $N(T x, U y) {
    return x * y;
}
//@ __ffs __ffsll: for N in __ffs __ffsll
template <typename T> inline int $N(T x) {
    return x == 0 ? 0 : int(ctz(x)) + 1;
}
//@ __hadd __hsub __hmul __hdiv __hmax __hmin __uhadd __rhadd __urhadd
// Of integers the mean, of `half` the sum. The first argument decides the type, so that the other may be a literal.
template <typename T> inline enable_if_t<is_integral<T>::value, T> __hadd(T x, enable_if_t<true, T> y) {
    return hadd(x, y);
}
template <typename T> inline enable_if_t<!is_integral<T>::value, T> __hadd(T x, enable_if_t<true, T> y) {
    return x + y;
}
inline uint __uhadd(uint x, uint y) {
    return hadd(x, y);
}
inline int __rhadd(int x, int y) {
    return rhadd(x, y);
}
inline uint __urhadd(uint x, uint y) {
    return rhadd(x, y);
}
template <typename T> inline T __hsub(T x, enable_if_t<true, T> y) {
    return x - y;
}
template <typename T> inline T __hmul(T x, enable_if_t<true, T> y) {
    return x * y;
}
template <typename T> inline T __hdiv(T x, enable_if_t<true, T> y) {
    return x / y;
}
template <typename T> inline T __hmax(T x, enable_if_t<true, T> y) {
    return max(x, y);
}
template <typename T> inline T __hmin(T x, enable_if_t<true, T> y) {
    return min(x, y);
}
//@ __hadd2 __hsub2 __hmul2 __hfma2 __hfma
inline half2 __hadd2(half2 x, half2 y) {
    return x + y;
}
inline half2 __hsub2(half2 x, half2 y) {
    return x - y;
}
inline half2 __hmul2(half2 x, half2 y) {
    return x * y;
}
inline half2 __hfma2(half2 x, half2 y, half2 z) {
    return fma(x, y, z);
}
inline half __hfma(half x, half y, half z) {
    return fma(x, y, z);
}
//@ __half22float2 __low2float __high2float
inline float2 __half22float2(half2 x) {
    return float2(x);
}
inline float __low2float(half2 x) {
    return x.x;
}
inline float __high2float(half2 x) {
    return x.y;
}
//@ nearbyintf nearbyint: for N in nearbyintf nearbyint
inline float $N(float x) {
    return rint(x);
}
//@ ldexpf
inline float ldexpf(float x, int n) {
    return ldexp(x, n);
}
//@ norm3df norm3d: for N in norm3df norm3d, with hypot
inline float $N(float x, float y, float z) {
    return hypot(hypot(x, y), z);
}
//@ lroundf lround llroundf llround: for N in lroundf lround llroundf llround
inline long $N(float x) {
    return long(round(x));
}
//@ lrintf lrint llrintf llrint: for N in lrintf lrint llrintf llrint
inline long $N(float x) {
    return long(rint(x));
}
//@ normcdff normcdf: for N in normcdff normcdf, with erfc
inline float $N(float x) {
    return 0.5f * erfc(-x * 0.70710678f);
}
//@ labs llabs: for N in labs llabs
inline long $N(long x) {
    return abs(x);
}
//@ sinpif cospif sinpi cospi
inline float sinpif(float x) {
    return sinpi(x);
}
inline float cospif(float x) {
    return cospi(x);
}
//@ memcpy: for D in thread device threadgroup, for S in thread device threadgroup constant
inline void memcpy($D void* to, const $S void* from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        (($D uchar*)to)[i] = ((const $S uchar*)from)[i];
    }
}
//@ memset: for D in thread device threadgroup
inline void memset($D void* to, int value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        (($D uchar*)to)[i] = uchar(value);
    }
}
//@ lerp
template <typename T, typename U> inline T lerp(T x, T y, U t) {
    return x + (y - x) * t;
}
//@ __float2half2_rn __float22half2_rn __halves2half2 __half2half2 __int2half_rn __uint2half_rn
inline half2 __float2half2_rn(float x) {
    return half2(half(x));
}
inline half2 __float22half2_rn(float2 x) {
    return half2(x);
}
inline half2 __halves2half2(half x, half y) {
    return half2(x, y);
}
inline half2 __half2half2(half x) {
    return half2(x);
}
inline half __int2half_rn(int x) {
    return half(x);
}
inline half __uint2half_rn(uint x) {
    return half(x);
}
//@ __byte_perm
inline uint __byte_perm(uint x, uint y, uint selector) {
    ulong bytes = (ulong(y) << 32) | x;
    uint result = 0;
    for (uint i = 0; i < 4; i++) {
        uint which = (selector >> (4 * i)) & 7;
        result |= (uint(bytes >> (8 * which)) & 0xff) << (8 * i);
    }
    return result;
}
//@ __dp4a
inline int __dp4a(int x, int y, int sum) {
    char4 a = as_type<char4>(x), b = as_type<char4>(y);
    return sum + int(a.x) * b.x + int(a.y) * b.y + int(a.z) * b.z + int(a.w) * b.w;
}
inline uint __dp4a(uint x, uint y, uint sum) {
    uchar4 a = as_type<uchar4>(x), b = as_type<uchar4>(y);
    return sum + uint(a.x) * b.x + uint(a.y) * b.y + uint(a.z) * b.z + uint(a.w) * b.w;
}
//@ make_cuFloatComplex make_cuComplex make_cuDoubleComplex cuCrealf cuCreal cuCimagf cuCimag cuConjf cuConj cuCaddf cuCadd cuCsubf cuCsub cuCmulf cuCmul cuCdivf cuCdiv cuCabsf cuCabs
inline float2 make_cuFloatComplex(float re, float im) { return float2(re, im); }
inline float2 make_cuComplex(float re, float im) { return float2(re, im); }
inline float2 make_cuDoubleComplex(float re, float im) { return float2(re, im); }
inline float cuCrealf(float2 z) { return z.x; }
inline float cuCimagf(float2 z) { return z.y; }
inline float2 cuConjf(float2 z) { return float2(z.x, -z.y); }
inline float2 cuCaddf(float2 a, float2 b) { return a + b; }
inline float2 cuCsubf(float2 a, float2 b) { return a - b; }
inline float2 cuCmulf(float2 a, float2 b) { return float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
inline float cuCreal(float2 z) { return z.x; }
inline float cuCimag(float2 z) { return z.y; }
inline float2 cuConj(float2 z) { return float2(z.x, -z.y); }
inline float2 cuCadd(float2 a, float2 b) { return a + b; }
inline float2 cuCsub(float2 a, float2 b) { return a - b; }
inline float2 cuCmul(float2 a, float2 b) { return float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
// Scaled, as CUDA's, so that squares do not overflow.
inline float2 cuCdivf(float2 a, float2 b) {
    float scale = 1.0f / (fabs(b.x) + fabs(b.y));
    float2 n = a * scale, d = b * scale;
    scale = 1.0f / (d.x * d.x + d.y * d.y);
    return float2((n.x * d.x + n.y * d.y) * scale, (n.y * d.x - n.x * d.y) * scale);
}
inline float cuCabsf(float2 z) {
    float large = max(fabs(z.x), fabs(z.y)), small = min(fabs(z.x), fabs(z.y));
    float ratio = large == 0.0f ? 0.0f : small / large;
    return isinf(large) ? large : large * sqrt(1.0f + ratio * ratio);
}
// Scaled, as CUDA's, so that squares do not overflow.
inline float2 cuCdiv(float2 a, float2 b) {
    float scale = 1.0f / (fabs(b.x) + fabs(b.y));
    float2 n = a * scale, d = b * scale;
    scale = 1.0f / (d.x * d.x + d.y * d.y);
    return float2((n.x * d.x + n.y * d.y) * scale, (n.y * d.x - n.x * d.y) * scale);
}
inline float cuCabs(float2 z) {
    float large = max(fabs(z.x), fabs(z.y)), small = min(fabs(z.x), fabs(z.y));
    float ratio = large == 0.0f ? 0.0f : small / large;
    return isinf(large) ? large : large * sqrt(1.0f + ratio * ratio);
}
//@ UINT64_C INT64_C UINT32_C INT32_C
#define UINT64_C(x) x##ull
#define INT64_C(x) x##ll
#define UINT32_C(x) x##u
#define INT32_C(x) x
//@ coalesced_threads: needs lane_in_simdgroup, with cooperative_groups
//@ cooperative_groups this_thread_block: needs threadIdx blockIdx blockDim gridDim, with __shfl_sync, with shuffled
namespace cooperative_groups {
struct thread_block {
    uint3 thread_, group_, size_, grid_;
    void sync() const {
        threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    }
    uint thread_rank() const {
        return thread_.x + size_.x * (thread_.y + size_.y * thread_.z);
    }
    uint size() const {
        return size_.x * size_.y * size_.z;
    }
    uint num_threads() const {
        return size();
    }
    uint3 thread_index() const {
        return thread_;
    }
    uint3 group_index() const {
        return group_;
    }
    uint3 group_dim() const {
        return size_;
    }
};
template <uint N> struct thread_block_tile {
    uint rank_, block_size_;
    void sync() const {
        simdgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    }
    uint thread_rank() const {
        return rank_ % N;
    }
    uint size() const {
        return N;
    }
    uint num_threads() const {
        return N;
    }
    uint meta_group_rank() const {
        return rank_ / N;
    }
    uint meta_group_size() const {
        return (block_size_ + N - 1) / N;
    }
    template <typename T> T shfl(T value, int source) const {
        return __shfl_sync(rank_ % 32, 0xffffffff, value, source, N);
    }
    template <typename T> T shfl_down(T value, uint delta) const {
        return __shfl_sync(rank_ % 32, 0xffffffff, value, int(rank_ % N + delta < N ? rank_ % N + delta : rank_ % N), N);
    }
    template <typename T> T shfl_up(T value, uint delta) const {
        uint rank = rank_ % N;
        return __shfl_sync(rank_ % 32, 0xffffffff, value, int(rank >= delta ? rank - delta : rank), N);
    }
    template <typename T> T shfl_xor(T value, uint bits) const {
        return __shfl_sync(rank_ % 32, 0xffffffff, value, int((rank_ % N) ^ bits), N);
    }
    uint ballot(int predicate) const {
        uint all = uint(ulong(simd_ballot(predicate != 0)));
        return N == 32 ? all : (all >> ((rank_ % 32) / N * N)) & ((1u << (N % 32)) - 1);
    }
    bool any(int predicate) const {
        return ballot(predicate) != 0;
    }
    bool all(int predicate) const {
        return ballot(predicate == 0) == 0;
    }
};
// A group whose size is known when the kernel runs: a threadgroup, or threads of a SIMD-group.
struct thread_group {
    uint rank_, size_, block_size_;
    thread_group(thread_block block)
        : rank_(block.thread_rank()), size_(block.size()), block_size_(block.size()) {}
    template <uint N> thread_group(thread_block_tile<N> tile)
        : rank_(tile.rank_), size_(N), block_size_(tile.block_size_) {}
    void sync() const {
        if (size_ == block_size_) {
            threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
        } else {
            simdgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
        }
    }
    uint thread_rank() const {
        return rank_ % size_;
    }
    uint size() const {
        return size_;
    }
    uint num_threads() const {
        return size_;
    }
};
inline thread_group tiled_partition(thread_group group, uint size) {
    group.size_ = size;
    return group;
}
struct coalesced_group {
    uint lanes_, lane_;
    void sync() const {
        simdgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    }
    uint size() const {
        return popcount(lanes_);
    }
    uint num_threads() const {
        return size();
    }
    uint thread_rank() const {
        return popcount(lanes_ & ((1u << lane_) - 1));
    }
    template <typename T> T shfl(T value, int source) const {
        uint rest = lanes_;
        for (int i = 0; i < source; i++) {
            rest &= rest - 1;
        }
        return simd_shuffle(value, ushort(ctz(rest)));
    }
};
inline coalesced_group coalesced_threads(uint lane) {
    return coalesced_group{uint(ulong(simd_active_threads_mask())), lane};
}
inline thread_block this_thread_block(uint3 threadIdx, uint3 blockIdx, uint3 blockDim, uint3 gridDim) {
    return thread_block{threadIdx, blockIdx, blockDim, gridDim};
}
template <uint N> inline thread_block_tile<N> tiled_partition(thread_block block) {
    return thread_block_tile<N>{block.thread_rank(), block.size()};
}
template <uint N, uint M> inline thread_block_tile<N> tiled_partition(thread_block_tile<M> tile) {
    return thread_block_tile<N>{tile.rank_, tile.block_size_};
}
template <typename G> inline void sync(G group) {
    group.sync();
}
template <typename T> struct plus {
    T operator()(T x, T y) const {
        return x + y;
    }
};
template <typename T> struct less {
    T operator()(T x, T y) const {
        return min(x, y);
    }
};
template <typename T> struct greater {
    T operator()(T x, T y) const {
        return max(x, y);
    }
};
template <uint N, typename T, typename F> inline T reduce(thread_block_tile<N> tile, T value, F f) {
    for (uint bits = N / 2; bits > 0; bits /= 2) {
        value = f(value, tile.shfl_xor(value, bits));
    }
    return value;
}
}
//@ this_grid: needs threadIdx blockIdx blockDim gridDim, with cooperative_groups
#include <anymetal_groups>
namespace cooperative_groups {
struct grid_group {
    thread_block block_;
    void sync() const {
        anymetal::grid_sync();
    }
    uint thread_rank() const {
        uint3 g = block_.group_;
        return (g.x + block_.grid_.x * (g.y + block_.grid_.y * g.z)) * block_.size() + block_.thread_rank();
    }
    uint size() const {
        return block_.grid_.x * block_.grid_.y * block_.grid_.z * block_.size();
    }
    uint num_threads() const {
        return size();
    }
};
inline grid_group this_grid(uint3 threadIdx, uint3 blockIdx, uint3 blockDim, uint3 gridDim) {
    return grid_group{thread_block{threadIdx, blockIdx, blockDim, gridDim}};
}
}
//@ frexp frexpf: for N in frexp frexpf
inline float $N(float x, thread int* exponent) {
    return metal::frexp(x, *exponent);
}
//@ modff modf: for N in modff modf
inline float $N(float x, thread float* whole) {
    return metal::modf(x, *whole);
}
//@ __match_any_sync: with shuffled
template <typename T> inline uint __match_any_sync(uint mask, T value) {
    uint same = 0;
    for (ushort lane = 0; lane < 32; lane++) {
        same |= uint(shuffled(value, lane) == value) << lane;
    }
    return same & mask;
}
//@ __hgt2 __hlt2 __hge2 __hle2
inline half2 __hgt2(half2 x, half2 y) {
    return half2(x > y);
}
inline half2 __hlt2(half2 x, half2 y) {
    return half2(x < y);
}
inline half2 __hge2(half2 x, half2 y) {
    return half2(x >= y);
}
inline half2 __hle2(half2 x, half2 y) {
    return half2(x <= y);
}
//@ UINT8_C UINT16_C INT8_C INT16_C
#define UINT8_C(x) x
#define UINT16_C(x) x
#define INT8_C(x) x
#define INT16_C(x) x
//@ cub
namespace cub {
enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm {
    BLOCK_LOAD_DIRECT,
    BLOCK_LOAD_STRIPED,
    BLOCK_LOAD_VECTORIZE,
    BLOCK_LOAD_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};
enum BlockStoreAlgorithm {
    BLOCK_STORE_DIRECT,
    BLOCK_STORE_STRIPED,
    BLOCK_STORE_VECTORIZE,
    BLOCK_STORE_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};
struct Sum {
    template <typename T> T operator()(T a, T b) const {
        return a + b;
    }
};
struct Max {
    template <typename T> T operator()(T a, T b) const {
        return b < a ? a : b;
    }
};
struct Min {
    template <typename T> T operator()(T a, T b) const {
        return b < a ? b : a;
    }
};
template <typename K, typename V> struct KeyValuePair {
    K key;
    V value;
};
struct ArgMax {
    template <typename T> T operator()(T a, T b) const {
        return b.value > a.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};
struct ArgMin {
    template <typename T> T operator()(T a, T b) const {
        return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};
inline uint thread_rank_(uint3 position, uint3 size) {
    return position.x + size.x * (position.y + size.y * position.z);
}
struct block_ {
    static void sync() {
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
};
struct warp_ {
    static void sync() {
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }
};
template <typename T, uint N, typename G> struct reduce_ {
    struct TempStorage {
        T values[N];
    };
    threadgroup TempStorage& memory_;
    uint rank_;
    reduce_(uint rank, threadgroup TempStorage& memory) : memory_(memory), rank_(rank) {}
    template <typename F> T Reduce(T value, F op, int valid) {
        if (rank_ < uint(valid)) {
            memory_.values[rank_] = value;
        }
        G::sync();
        for (uint step = 1; step < uint(valid); step *= 2) {
            if (rank_ % (2 * step) == 0 && rank_ + step < uint(valid)) {
                T left = memory_.values[rank_], right = memory_.values[rank_ + step];
                memory_.values[rank_] = op(left, right);
            }
            G::sync();
        }
        return memory_.values[0];
    }
    template <typename F> T Reduce(T value, F op) {
        return Reduce(value, op, int(N));
    }
    template <int I, typename F> T Reduce(thread T (&values)[I], F op) {
        T all = values[0];
        for (int i = 1; i < I; i++) {
            all = op(all, values[i]);
        }
        return Reduce(all, op, int(N));
    }
    T Sum(T value) {
        return Reduce(value, cub::Sum(), int(N));
    }
    T Sum(T value, int valid) {
        return Reduce(value, cub::Sum(), valid);
    }
    template <int I> T Sum(thread T (&values)[I]) {
        return Reduce(values, cub::Sum());
    }
};
template <typename T, int X, BlockReduceAlgorithm A = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1>
struct BlockReduce : reduce_<T, X * Y * Z, block_> {
    using TempStorage = typename reduce_<T, X * Y * Z, block_>::TempStorage;
    BlockReduce(uint3 position, uint3 size, threadgroup TempStorage& memory)
        : reduce_<T, X * Y * Z, block_>(thread_rank_(position, size), memory) {}
};
template <typename T, int W = 32> struct WarpReduce : reduce_<T, W, warp_> {
    using TempStorage = typename reduce_<T, W, warp_>::TempStorage;
    WarpReduce(uint3 position, uint3 size, threadgroup TempStorage& memory)
        : reduce_<T, W, warp_>(thread_rank_(position, size) % W, memory) {}
};
template <typename T, uint N, typename G> struct scan_ {
    struct TempStorage {
        T values[N];
    };
    threadgroup TempStorage& memory_;
    uint rank_;
    scan_(uint rank, threadgroup TempStorage& memory) : memory_(memory), rank_(rank) {}
    template <typename F> void InclusiveScan(T value, thread T& result, F op) {
        memory_.values[rank_] = value;
        G::sync();
        for (uint step = 1; step < N; step *= 2) {
            T right = memory_.values[rank_];
            T left = memory_.values[rank_ >= step ? rank_ - step : rank_];
            G::sync();
            if (rank_ >= step) {
                memory_.values[rank_] = op(left, right);
            }
            G::sync();
        }
        result = memory_.values[rank_];
    }
    template <typename F> void InclusiveScan(T value, thread T& result, F op, thread T& all) {
        InclusiveScan(value, result, op);
        all = memory_.values[N - 1];
    }
    template <typename F> void ExclusiveScan(T value, thread T& result, T initial, F op) {
        T sums = value;
        InclusiveScan(value, sums, op);
        T before = memory_.values[rank_ > 0 ? rank_ - 1 : 0];
        result = rank_ > 0 ? op(initial, before) : initial;
    }
    template <typename F> void ExclusiveScan(T value, thread T& result, T initial, F op, thread T& all) {
        ExclusiveScan(value, result, initial, op);
        all = memory_.values[N - 1];
    }
    void InclusiveSum(T value, thread T& result) {
        InclusiveScan(value, result, cub::Sum());
    }
    void InclusiveSum(T value, thread T& result, thread T& all) {
        InclusiveScan(value, result, cub::Sum(), all);
    }
    void ExclusiveSum(T value, thread T& result) {
        ExclusiveScan(value, result, T(0), cub::Sum());
    }
    void ExclusiveSum(T value, thread T& result, thread T& all) {
        ExclusiveScan(value, result, T(0), cub::Sum(), all);
    }
    template <int I> void InclusiveSum(thread T (&values)[I], thread T (&results)[I]) {
        T all;
        InclusiveSum(values, results, all);
    }
    template <int I> void InclusiveSum(thread T (&values)[I], thread T (&results)[I], thread T& all) {
        T last = values[I - 1];
        ExclusiveSum(values, results, all);
        for (int i = 0; i + 1 < I; i++) {
            results[i] = results[i + 1];
        }
        results[I - 1] += last;
    }
    template <int I> void ExclusiveSum(thread T (&values)[I], thread T (&results)[I]) {
        T all;
        ExclusiveSum(values, results, all);
    }
    template <int I> void ExclusiveSum(thread T (&values)[I], thread T (&results)[I], thread T& all) {
        T own = values[0], sum;
        for (int i = 1; i < I; i++) {
            own += values[i];
        }
        ExclusiveSum(own, sum, all);
        for (int i = 0; i < I; i++) {
            T value = values[i];
            results[i] = sum;
            sum += value;
        }
    }
};
template <typename T, int X, BlockScanAlgorithm A = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1>
struct BlockScan : scan_<T, X * Y * Z, block_> {
    using TempStorage = typename scan_<T, X * Y * Z, block_>::TempStorage;
    BlockScan(uint3 position, uint3 size, threadgroup TempStorage& memory)
        : scan_<T, X * Y * Z, block_>(thread_rank_(position, size), memory) {}
};
template <typename T, int W = 32> struct WarpScan : scan_<T, W, warp_> {
    using TempStorage = typename scan_<T, W, warp_>::TempStorage;
    WarpScan(uint3 position, uint3 size, threadgroup TempStorage& memory)
        : scan_<T, W, warp_>(thread_rank_(position, size) % W, memory) {}
};
template <typename T, int X, int I, BlockLoadAlgorithm A = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1> struct BlockLoad {
    struct TempStorage {
        int unused_;
    };
    uint rank_;
    BlockLoad(uint3 position, uint3 size, threadgroup TempStorage& memory) : rank_(thread_rank_(position, size)) {}
    uint at(int i) const {
        return A == BLOCK_LOAD_STRIPED ? uint(i) * X * Y * Z + rank_ : rank_ * I + i;
    }
    template <typename P> void Load(P from, thread T (&items)[I]) const {
        for (int i = 0; i < I; i++) {
            items[i] = from[at(i)];
        }
    }
    template <typename P> void Load(P from, thread T (&items)[I], int valid) const {
        for (int i = 0; i < I; i++) {
            if (at(i) < uint(valid)) {
                items[i] = from[at(i)];
            }
        }
    }
    template <typename P> void Load(P from, thread T (&items)[I], int valid, T other) const {
        for (int i = 0; i < I; i++) {
            items[i] = other;
        }
        Load(from, items, valid);
    }
};
template <typename T, int X, int I, BlockStoreAlgorithm A = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1>
struct BlockStore {
    struct TempStorage {
        int unused_;
    };
    uint rank_;
    BlockStore(uint3 position, uint3 size, threadgroup TempStorage& memory) : rank_(thread_rank_(position, size)) {}
    uint at(int i) const {
        return A == BLOCK_STORE_STRIPED ? uint(i) * X * Y * Z + rank_ : rank_ * I + i;
    }
    template <typename P> void Store(P to, thread T (&items)[I]) const {
        for (int i = 0; i < I; i++) {
            to[at(i)] = items[i];
        }
    }
    template <typename P> void Store(P to, thread T (&items)[I], int valid) const {
        for (int i = 0; i < I; i++) {
            if (at(i) < uint(valid)) {
                to[at(i)] = items[i];
            }
        }
    }
};
template <typename T, int X, int I, bool S = false, int Y = 1, int Z = 1> struct BlockExchange {
    struct TempStorage {
        T values[X * Y * Z * I];
    };
    threadgroup TempStorage& memory_;
    uint rank_;
    BlockExchange(uint3 position, uint3 size, threadgroup TempStorage& memory)
        : memory_(memory), rank_(thread_rank_(position, size)) {}
    void StripedToBlocked(thread T (&from)[I], thread T (&to)[I]) {
        for (int i = 0; i < I; i++) {
            memory_.values[uint(i) * X * Y * Z + rank_] = from[i];
        }
        block_::sync();
        for (int i = 0; i < I; i++) {
            to[i] = memory_.values[rank_ * I + i];
        }
    }
    void BlockedToStriped(thread T (&from)[I], thread T (&to)[I]) {
        for (int i = 0; i < I; i++) {
            memory_.values[rank_ * I + i] = from[i];
        }
        block_::sync();
        for (int i = 0; i < I; i++) {
            to[i] = memory_.values[uint(i) * X * Y * Z + rank_];
        }
    }
    void StripedToBlocked(thread T (&items)[I]) {
        StripedToBlocked(items, items);
    }
    void BlockedToStriped(thread T (&items)[I]) {
        BlockedToStriped(items, items);
    }
};
}
//@ __float2int_rn __double2int_rn: for N in __float2int_rn __double2int_rn
inline int $N(float x) {
    return int(rint(x));
}
//@ __float2int_rd __double2int_rd: for N in __float2int_rd __double2int_rd
inline int $N(float x) {
    return int(floor(x));
}
//@ __float2int_ru __double2int_ru: for N in __float2int_ru __double2int_ru
inline int $N(float x) {
    return int(ceil(x));
}
//@ __float2uint_rn __double2uint_rn: for N in __float2uint_rn __double2uint_rn
inline uint $N(float x) {
    return uint(rint(x));
}
//@ __double2uint_rz: for N in __double2uint_rz
inline uint $N(float x) {
    return uint(trunc(x));
}
//@ __float2uint_rd __double2uint_rd: for N in __float2uint_rd __double2uint_rd
inline uint $N(float x) {
    return uint(floor(x));
}
//@ __float2uint_ru __double2uint_ru: for N in __float2uint_ru __double2uint_ru
inline uint $N(float x) {
    return uint(ceil(x));
}
//@ __float2ll_rn __double2ll_rn: for N in __float2ll_rn __double2ll_rn
inline long $N(float x) {
    return long(rint(x));
}
//@ __float2ll_rz __double2ll_rz: for N in __float2ll_rz __double2ll_rz
inline long $N(float x) {
    return long(trunc(x));
}
//@ __float2ll_rd __double2ll_rd: for N in __float2ll_rd __double2ll_rd
inline long $N(float x) {
    return long(floor(x));
}
//@ __float2ll_ru __double2ll_ru: for N in __float2ll_ru __double2ll_ru
inline long $N(float x) {
    return long(ceil(x));
}
//@ __float2ull_rn __double2ull_rn: for N in __float2ull_rn __double2ull_rn
inline ulong $N(float x) {
    return ulong(rint(x));
}
//@ __float2ull_rz __double2ull_rz: for N in __float2ull_rz __double2ull_rz
inline ulong $N(float x) {
    return ulong(trunc(x));
}
//@ __float2ull_rd __double2ull_rd: for N in __float2ull_rd __double2ull_rd
inline ulong $N(float x) {
    return ulong(floor(x));
}
//@ __float2ull_ru __double2ull_ru: for N in __float2ull_ru __double2ull_ru
inline ulong $N(float x) {
    return ulong(ceil(x));
}
//@ __int2double_rn: for N in __int2double_rn
inline float $N(int x) {
    return float(x);
}
//@ __uint2double_rn: for N in __uint2double_rn
inline float $N(uint x) {
    return float(x);
}
//@ __ll2double_rn __ll2float_rn: for N in __ll2double_rn __ll2float_rn
inline float $N(long x) {
    return float(x);
}
//@ __ull2double_rn __ull2float_rn: for N in __ull2double_rn __ull2float_rn
inline float $N(ulong x) {
    return float(x);
}
//@ __ddiv_rn: for N in __ddiv_rn
inline float $N(float x, float y) {
    return x / y;
}
//@ __drcp_rn: for N in __drcp_rn
inline float $N(float x) {
    return 1.0f / x;
}
//@ __dsqrt_rn: for N in __dsqrt_rn
inline float $N(float x) {
    return sqrt(x);
}
//@ __fma_rn: for N in __fma_rn
inline float $N(float x, float y, float z) {
    return fma(x, y, z);
}
//@ scalbn scalbnf: for N in scalbn scalbnf
inline float $N(float x, int n) {
    return ldexp(x, n);
}
//@ scalbln scalblnf: for N in scalbln scalblnf
inline float $N(float x, long n) {
    return ldexp(x, int(clamp(n, -100000l, 100000l)));
}
//@ ilogbf: for N in ilogbf
inline int $N(float x) {
    return ilogb(x);
}
//@ nextafterf: for N in nextafterf
inline float $N(float x, float y) {
    return nextafter(x, y);
}
//@ rhypot rhypotf: for N in rhypot rhypotf, with hypot
inline float $N(float x, float y) {
    return 1.0f / hypot(x, y);
}
//@ rcbrt rcbrtf: for N in rcbrt rcbrtf, with cbrt
inline float $N(float x) {
    return 1.0f / cbrt(x);
}
//@ norm4d norm4df: for N in norm4d norm4df, with hypot
inline float $N(float x, float y, float z, float w) {
    return hypot(hypot(x, y), hypot(z, w));
}
//@ rnorm3d rnorm3df: for N in rnorm3d rnorm3df, with hypot
inline float $N(float x, float y, float z) {
    return 1.0f / hypot(hypot(x, y), z);
}
//@ rnorm4d rnorm4df: for N in rnorm4d rnorm4df, with hypot
inline float $N(float x, float y, float z, float w) {
    return 1.0f / hypot(hypot(x, y), hypot(z, w));
}
//@ isless: for N in isless
inline bool $N(float x, float y) {
    return x < y;
}
//@ isgreater: for N in isgreater
inline bool $N(float x, float y) {
    return x > y;
}
//@ islessequal: for N in islessequal
inline bool $N(float x, float y) {
    return x <= y;
}
//@ isgreaterequal: for N in isgreaterequal
inline bool $N(float x, float y) {
    return x >= y;
}
//@ islessgreater: for N in islessgreater
inline bool $N(float x, float y) {
    return (x < y) || (x > y);
}
//@ __isnanf __isnan: for N in __isnanf __isnan
inline bool $N(float x) {
    return isnan(x);
}
//@ __isinff __isinf: for N in __isinff __isinf
inline bool $N(float x) {
    return isinf(x);
}
//@ __finitef __finite __isfinited: for N in __finitef __finite __isfinited
inline bool $N(float x) {
    return isfinite(x);
}
//@ __signbitf __signbitd: for N in __signbitf __signbitd
inline bool $N(float x) {
    return signbit(x);
}
//@ llmin: for N in llmin
inline long $N(long x, long y) {
    return min(x, y);
}
//@ llmax: for N in llmax
inline long $N(long x, long y) {
    return max(x, y);
}
//@ ullmin: for N in ullmin
inline ulong $N(ulong x, ulong y) {
    return min(x, y);
}
//@ ullmax: for N in ullmax
inline ulong $N(ulong x, ulong y) {
    return max(x, y);
}
//@ __sad: for N in __sad
inline uint $N(int x, int y, uint z) {
    return z + uint(absdiff(x, y));
}
//@ __usad: for N in __usad
inline uint $N(uint x, uint y, uint z) {
    return z + absdiff(x, y);
}
//@ __funnelshift_l
inline uint __funnelshift_l(uint low, uint high, uint n) {
    return uint((((ulong(high) << 32) | low) << ulong(n & 31)) >> 32);
}
//@ __funnelshift_r
inline uint __funnelshift_r(uint low, uint high, uint n) {
    return uint(((ulong(high) << 32) | low) >> ulong(n & 31));
}
//@ remquo remquof: for N in remquo remquof, with remainder
// Of the quotient the sign and the low three bits.
inline float $N(float x, float y, thread int* quotient) {
    float b = fabs(y), rest = remainder(x, y);
    *quotient = 0;
    if (isfinite(x) && b > 0.0f && b < 0x1p120f) {
        int part = int(rint((fmod(fabs(x), 8.0f * b) - (signbit(x) ? -rest : rest)) / b)) & 7;
        *quotient = signbit(x) == signbit(y) ? part : -part;
    }
    return rest;
}
//@ erfcinv: with erfc
// Halley's steps from an estimate of the inverse.
inline float erfcinv(float y) {
    if (!(y > 0.0f && y < 2.0f)) {
        return y == 0.0f ? INFINITY : y == 2.0f ? -INFINITY : NAN;
    }
    float z = y < 1.0f ? y : 2.0f - y;
    float l = log(z * (2.0f - z)), a = 4.3307467f + 0.5f * l;
    float x = sqrt(sqrt(a * a - l / 0.147f) - a);
    for (int i = 0; i < 2; i++) {
        float error = (erfc(x) - z) / (1.1283792f * exp(-x * x));
        x += error / (1.0f + x * error);
    }
    return y < 1.0f ? x : -x;
}
//@ erfinv: with erfcinv, with erf
inline float erfinv(float y) {
    float a = fabs(y);
    if (a > 0.5f) {
        return copysign(erfcinv(1.0f - a), y);
    }
    float x = y * (0.88622693f + 0.23201367f * y * y);
    for (int i = 0; i < 2; i++) {
        float error = (erf(x) - y) / (1.1283792f * exp(-x * x));
        x -= error / (1.0f + x * error);
    }
    return x;
}
//@ erfcinvf: with erfcinv
inline float erfcinvf(float y) {
    return erfcinv(y);
}
//@ erfinvf: with erfinv
inline float erfinvf(float y) {
    return erfinv(y);
}
//@ normcdfinv normcdfinvf: for N in normcdfinv normcdfinvf, with erfcinv
inline float $N(float y) {
    return -1.4142136f * erfcinv(2.0f * y);
}
//@ __vadd2
inline uint __vadd2(uint x, uint y) {
    ushort2 a = as_type<ushort2>(x), b = as_type<ushort2>(y);
    return as_type<uint>(a + b);
}
//@ __vsub2
inline uint __vsub2(uint x, uint y) {
    ushort2 a = as_type<ushort2>(x), b = as_type<ushort2>(y);
    return as_type<uint>(a - b);
}
//@ __vaddss2
inline uint __vaddss2(uint x, uint y) {
    short2 a = as_type<short2>(x), b = as_type<short2>(y);
    return as_type<uint>(addsat(a, b));
}
//@ __vaddus2
inline uint __vaddus2(uint x, uint y) {
    ushort2 a = as_type<ushort2>(x), b = as_type<ushort2>(y);
    return as_type<uint>(addsat(a, b));
}
//@ __vsubss2
inline uint __vsubss2(uint x, uint y) {
    short2 a = as_type<short2>(x), b = as_type<short2>(y);
    return as_type<uint>(subsat(a, b));
}
//@ __vsubus2
inline uint __vsubus2(uint x, uint y) {
    ushort2 a = as_type<ushort2>(x), b = as_type<ushort2>(y);
    return as_type<uint>(subsat(a, b));
}
//@ __vmaxs2
inline uint __vmaxs2(uint x, uint y) {
    short2 a = as_type<short2>(x), b = as_type<short2>(y);
    return as_type<uint>(max(a, b));
}
//@ __vmins2
inline uint __vmins2(uint x, uint y) {
    short2 a = as_type<short2>(x), b = as_type<short2>(y);
    return as_type<uint>(min(a, b));
}
//@ __vavgs2
inline uint __vavgs2(uint x, uint y) {
    short2 a = as_type<short2>(x), b = as_type<short2>(y);
    return as_type<uint>(rhadd(a, b));
}
//@ __vabsdiffs2
inline uint __vabsdiffs2(uint x, uint y) {
    short2 a = as_type<short2>(x), b = as_type<short2>(y);
    return as_type<uint>(absdiff(a, b));
}
//@ __vsads2
inline uint __vsads2(uint x, uint y) {
    ushort2 d = ushort2(absdiff(as_type<short2>(x), as_type<short2>(y)));
    return uint(d.x) + uint(d.y);
}
//@ __vcmpgts2
inline uint __vcmpgts2(uint x, uint y) {
    short2 a = as_type<short2>(x), b = as_type<short2>(y);
    return as_type<uint>(-short2(a > b));
}
//@ __vsetgts2
inline uint __vsetgts2(uint x, uint y) {
    short2 a = as_type<short2>(x), b = as_type<short2>(y);
    return as_type<uint>(ushort2(a > b));
}
//@ __vcmpges2
inline uint __vcmpges2(uint x, uint y) {
    short2 a = as_type<short2>(x), b = as_type<short2>(y);
    return as_type<uint>(-short2(a >= b));
}
//@ __vsetges2
inline uint __vsetges2(uint x, uint y) {
    short2 a = as_type<short2>(x), b = as_type<short2>(y);
    return as_type<uint>(ushort2(a >= b));
}
//@ __vcmplts2
inline uint __vcmplts2(uint x, uint y) {
    short2 a = as_type<short2>(x), b = as_type<short2>(y);
    return as_type<uint>(-short2(a < b));
}
//@ __vsetlts2
inline uint __vsetlts2(uint x, uint y) {
    short2 a = as_type<short2>(x), b = as_type<short2>(y);
    return as_type<uint>(ushort2(a < b));
}
//@ __vcmples2
inline uint __vcmples2(uint x, uint y) {
    short2 a = as_type<short2>(x), b = as_type<short2>(y);
    return as_type<uint>(-short2(a <= b));
}
//@ __vsetles2
inline uint __vsetles2(uint x, uint y) {
    short2 a = as_type<short2>(x), b = as_type<short2>(y);
    return as_type<uint>(ushort2(a <= b));
}
//@ __vmaxu2
inline uint __vmaxu2(uint x, uint y) {
    ushort2 a = as_type<ushort2>(x), b = as_type<ushort2>(y);
    return as_type<uint>(max(a, b));
}
//@ __vminu2
inline uint __vminu2(uint x, uint y) {
    ushort2 a = as_type<ushort2>(x), b = as_type<ushort2>(y);
    return as_type<uint>(min(a, b));
}
//@ __vavgu2
inline uint __vavgu2(uint x, uint y) {
    ushort2 a = as_type<ushort2>(x), b = as_type<ushort2>(y);
    return as_type<uint>(rhadd(a, b));
}
//@ __vabsdiffu2
inline uint __vabsdiffu2(uint x, uint y) {
    ushort2 a = as_type<ushort2>(x), b = as_type<ushort2>(y);
    return as_type<uint>(absdiff(a, b));
}
//@ __vsadu2
inline uint __vsadu2(uint x, uint y) {
    ushort2 d = ushort2(absdiff(as_type<ushort2>(x), as_type<ushort2>(y)));
    return uint(d.x) + uint(d.y);
}
//@ __vcmpgtu2
inline uint __vcmpgtu2(uint x, uint y) {
    ushort2 a = as_type<ushort2>(x), b = as_type<ushort2>(y);
    return as_type<uint>(-short2(a > b));
}
//@ __vsetgtu2
inline uint __vsetgtu2(uint x, uint y) {
    ushort2 a = as_type<ushort2>(x), b = as_type<ushort2>(y);
    return as_type<uint>(ushort2(a > b));
}
//@ __vcmpgeu2
inline uint __vcmpgeu2(uint x, uint y) {
    ushort2 a = as_type<ushort2>(x), b = as_type<ushort2>(y);
    return as_type<uint>(-short2(a >= b));
}
//@ __vsetgeu2
inline uint __vsetgeu2(uint x, uint y) {
    ushort2 a = as_type<ushort2>(x), b = as_type<ushort2>(y);
    return as_type<uint>(ushort2(a >= b));
}
//@ __vcmpltu2
inline uint __vcmpltu2(uint x, uint y) {
    ushort2 a = as_type<ushort2>(x), b = as_type<ushort2>(y);
    return as_type<uint>(-short2(a < b));
}
//@ __vsetltu2
inline uint __vsetltu2(uint x, uint y) {
    ushort2 a = as_type<ushort2>(x), b = as_type<ushort2>(y);
    return as_type<uint>(ushort2(a < b));
}
//@ __vcmpleu2
inline uint __vcmpleu2(uint x, uint y) {
    ushort2 a = as_type<ushort2>(x), b = as_type<ushort2>(y);
    return as_type<uint>(-short2(a <= b));
}
//@ __vsetleu2
inline uint __vsetleu2(uint x, uint y) {
    ushort2 a = as_type<ushort2>(x), b = as_type<ushort2>(y);
    return as_type<uint>(ushort2(a <= b));
}
//@ __vcmpeq2
inline uint __vcmpeq2(uint x, uint y) {
    ushort2 a = as_type<ushort2>(x), b = as_type<ushort2>(y);
    return as_type<uint>(-short2(a == b));
}
//@ __vcmpne2
inline uint __vcmpne2(uint x, uint y) {
    ushort2 a = as_type<ushort2>(x), b = as_type<ushort2>(y);
    return as_type<uint>(-short2(a != b));
}
//@ __vseteq2
inline uint __vseteq2(uint x, uint y) {
    ushort2 a = as_type<ushort2>(x), b = as_type<ushort2>(y);
    return as_type<uint>(ushort2(a == b));
}
//@ __vsetne2
inline uint __vsetne2(uint x, uint y) {
    ushort2 a = as_type<ushort2>(x), b = as_type<ushort2>(y);
    return as_type<uint>(ushort2(a != b));
}
//@ __vhaddu2
inline uint __vhaddu2(uint x, uint y) {
    ushort2 a = as_type<ushort2>(x), b = as_type<ushort2>(y);
    return as_type<uint>(hadd(a, b));
}
//@ __vabs2
inline uint __vabs2(uint x) {
    short2 a = as_type<short2>(x);
    return as_type<uint>(abs(a));
}
//@ __vneg2
inline uint __vneg2(uint x) {
    short2 a = as_type<short2>(x);
    return as_type<uint>(-a);
}
//@ __vabsss2
inline uint __vabsss2(uint x) {
    short2 a = as_type<short2>(x);
    return as_type<uint>(max(a, subsat(short2(0), a)));
}
//@ __vnegss2
inline uint __vnegss2(uint x) {
    short2 a = as_type<short2>(x);
    return as_type<uint>(subsat(short2(0), a));
}
//@ __vadd4
inline uint __vadd4(uint x, uint y) {
    uchar4 a = as_type<uchar4>(x), b = as_type<uchar4>(y);
    return as_type<uint>(a + b);
}
//@ __vsub4
inline uint __vsub4(uint x, uint y) {
    uchar4 a = as_type<uchar4>(x), b = as_type<uchar4>(y);
    return as_type<uint>(a - b);
}
//@ __vaddss4
inline uint __vaddss4(uint x, uint y) {
    char4 a = as_type<char4>(x), b = as_type<char4>(y);
    return as_type<uint>(addsat(a, b));
}
//@ __vaddus4
inline uint __vaddus4(uint x, uint y) {
    uchar4 a = as_type<uchar4>(x), b = as_type<uchar4>(y);
    return as_type<uint>(addsat(a, b));
}
//@ __vsubss4
inline uint __vsubss4(uint x, uint y) {
    char4 a = as_type<char4>(x), b = as_type<char4>(y);
    return as_type<uint>(subsat(a, b));
}
//@ __vsubus4
inline uint __vsubus4(uint x, uint y) {
    uchar4 a = as_type<uchar4>(x), b = as_type<uchar4>(y);
    return as_type<uint>(subsat(a, b));
}
//@ __vmaxs4
inline uint __vmaxs4(uint x, uint y) {
    char4 a = as_type<char4>(x), b = as_type<char4>(y);
    return as_type<uint>(max(a, b));
}
//@ __vmins4
inline uint __vmins4(uint x, uint y) {
    char4 a = as_type<char4>(x), b = as_type<char4>(y);
    return as_type<uint>(min(a, b));
}
//@ __vavgs4
inline uint __vavgs4(uint x, uint y) {
    char4 a = as_type<char4>(x), b = as_type<char4>(y);
    return as_type<uint>(rhadd(a, b));
}
//@ __vabsdiffs4
inline uint __vabsdiffs4(uint x, uint y) {
    char4 a = as_type<char4>(x), b = as_type<char4>(y);
    return as_type<uint>(absdiff(a, b));
}
//@ __vsads4
inline uint __vsads4(uint x, uint y) {
    uchar4 d = uchar4(absdiff(as_type<char4>(x), as_type<char4>(y)));
    return uint(d.x) + uint(d.y) + uint(d.z) + uint(d.w);
}
//@ __vcmpgts4
inline uint __vcmpgts4(uint x, uint y) {
    char4 a = as_type<char4>(x), b = as_type<char4>(y);
    return as_type<uint>(-char4(a > b));
}
//@ __vsetgts4
inline uint __vsetgts4(uint x, uint y) {
    char4 a = as_type<char4>(x), b = as_type<char4>(y);
    return as_type<uint>(uchar4(a > b));
}
//@ __vcmpges4
inline uint __vcmpges4(uint x, uint y) {
    char4 a = as_type<char4>(x), b = as_type<char4>(y);
    return as_type<uint>(-char4(a >= b));
}
//@ __vsetges4
inline uint __vsetges4(uint x, uint y) {
    char4 a = as_type<char4>(x), b = as_type<char4>(y);
    return as_type<uint>(uchar4(a >= b));
}
//@ __vcmplts4
inline uint __vcmplts4(uint x, uint y) {
    char4 a = as_type<char4>(x), b = as_type<char4>(y);
    return as_type<uint>(-char4(a < b));
}
//@ __vsetlts4
inline uint __vsetlts4(uint x, uint y) {
    char4 a = as_type<char4>(x), b = as_type<char4>(y);
    return as_type<uint>(uchar4(a < b));
}
//@ __vcmples4
inline uint __vcmples4(uint x, uint y) {
    char4 a = as_type<char4>(x), b = as_type<char4>(y);
    return as_type<uint>(-char4(a <= b));
}
//@ __vsetles4
inline uint __vsetles4(uint x, uint y) {
    char4 a = as_type<char4>(x), b = as_type<char4>(y);
    return as_type<uint>(uchar4(a <= b));
}
//@ __vmaxu4
inline uint __vmaxu4(uint x, uint y) {
    uchar4 a = as_type<uchar4>(x), b = as_type<uchar4>(y);
    return as_type<uint>(max(a, b));
}
//@ __vminu4
inline uint __vminu4(uint x, uint y) {
    uchar4 a = as_type<uchar4>(x), b = as_type<uchar4>(y);
    return as_type<uint>(min(a, b));
}
//@ __vavgu4
inline uint __vavgu4(uint x, uint y) {
    uchar4 a = as_type<uchar4>(x), b = as_type<uchar4>(y);
    return as_type<uint>(rhadd(a, b));
}
//@ __vabsdiffu4
inline uint __vabsdiffu4(uint x, uint y) {
    uchar4 a = as_type<uchar4>(x), b = as_type<uchar4>(y);
    return as_type<uint>(absdiff(a, b));
}
//@ __vsadu4
inline uint __vsadu4(uint x, uint y) {
    uchar4 d = uchar4(absdiff(as_type<uchar4>(x), as_type<uchar4>(y)));
    return uint(d.x) + uint(d.y) + uint(d.z) + uint(d.w);
}
//@ __vcmpgtu4
inline uint __vcmpgtu4(uint x, uint y) {
    uchar4 a = as_type<uchar4>(x), b = as_type<uchar4>(y);
    return as_type<uint>(-char4(a > b));
}
//@ __vsetgtu4
inline uint __vsetgtu4(uint x, uint y) {
    uchar4 a = as_type<uchar4>(x), b = as_type<uchar4>(y);
    return as_type<uint>(uchar4(a > b));
}
//@ __vcmpgeu4
inline uint __vcmpgeu4(uint x, uint y) {
    uchar4 a = as_type<uchar4>(x), b = as_type<uchar4>(y);
    return as_type<uint>(-char4(a >= b));
}
//@ __vsetgeu4
inline uint __vsetgeu4(uint x, uint y) {
    uchar4 a = as_type<uchar4>(x), b = as_type<uchar4>(y);
    return as_type<uint>(uchar4(a >= b));
}
//@ __vcmpltu4
inline uint __vcmpltu4(uint x, uint y) {
    uchar4 a = as_type<uchar4>(x), b = as_type<uchar4>(y);
    return as_type<uint>(-char4(a < b));
}
//@ __vsetltu4
inline uint __vsetltu4(uint x, uint y) {
    uchar4 a = as_type<uchar4>(x), b = as_type<uchar4>(y);
    return as_type<uint>(uchar4(a < b));
}
//@ __vcmpleu4
inline uint __vcmpleu4(uint x, uint y) {
    uchar4 a = as_type<uchar4>(x), b = as_type<uchar4>(y);
    return as_type<uint>(-char4(a <= b));
}
//@ __vsetleu4
inline uint __vsetleu4(uint x, uint y) {
    uchar4 a = as_type<uchar4>(x), b = as_type<uchar4>(y);
    return as_type<uint>(uchar4(a <= b));
}
//@ __vcmpeq4
inline uint __vcmpeq4(uint x, uint y) {
    uchar4 a = as_type<uchar4>(x), b = as_type<uchar4>(y);
    return as_type<uint>(-char4(a == b));
}
//@ __vcmpne4
inline uint __vcmpne4(uint x, uint y) {
    uchar4 a = as_type<uchar4>(x), b = as_type<uchar4>(y);
    return as_type<uint>(-char4(a != b));
}
//@ __vseteq4
inline uint __vseteq4(uint x, uint y) {
    uchar4 a = as_type<uchar4>(x), b = as_type<uchar4>(y);
    return as_type<uint>(uchar4(a == b));
}
//@ __vsetne4
inline uint __vsetne4(uint x, uint y) {
    uchar4 a = as_type<uchar4>(x), b = as_type<uchar4>(y);
    return as_type<uint>(uchar4(a != b));
}
//@ __vhaddu4
inline uint __vhaddu4(uint x, uint y) {
    uchar4 a = as_type<uchar4>(x), b = as_type<uchar4>(y);
    return as_type<uint>(hadd(a, b));
}
//@ __vabs4
inline uint __vabs4(uint x) {
    char4 a = as_type<char4>(x);
    return as_type<uint>(abs(a));
}
//@ __vneg4
inline uint __vneg4(uint x) {
    char4 a = as_type<char4>(x);
    return as_type<uint>(-a);
}
//@ __vabsss4
inline uint __vabsss4(uint x) {
    char4 a = as_type<char4>(x);
    return as_type<uint>(max(a, subsat(char4(0), a)));
}
//@ __vnegss4
inline uint __vnegss4(uint x) {
    char4 a = as_type<char4>(x);
    return as_type<uint>(subsat(char4(0), a));
}
