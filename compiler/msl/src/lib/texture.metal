// <metal_texture>. A texture argument is two bindings, its texels and its description; the classes below
// are numbers of these, or addresses of descriptions. What they do is in the two headers before.
#pragma METAL fp math_mode(safe)

namespace metal {

#define __AM_READABLE static_assert(A != access::write, "a texture with access::write cannot be read");
#define __AM_SAMPLED static_assert(A == access::sample, "only a texture with access::sample can be sampled");
#define __AM_WRITABLE \
  static_assert(A == access::write || A == access::read_write, "only a texture with access::write or access::read_write can be written");
#define __AM_READ_WRITE static_assert(A == access::read_write, "this needs a texture with access::read_write");

__lib_request __lib_ask(__lib_texture t, uint dimensions, float3 at, int3 offset, uint slice, sampler s, float lod) {
  __lib_request r;
  r.t = t;
  r.dimensions = dimensions;
  r.slice = slice;
  r.at = at;
  r.offset = offset;
  r.s = s;
  r.lod = lod;
  return r;
}
// An index of an array's slice is clamped where it is sampled.
uint __lib_slice(__lib_texture t, uint slice) { return min(slice, t.slices() - 1u); }
__lib_request __lib_ask_cube(__lib_texture t, float3 direction, uint cube, sampler s, float lod) {
  float3 on = __lib_on_cube(direction);
  uint slice = min(cube, t.slices() / 6u - 1u) * 6u + uint(on.z);
  s.__state &= ~511u;
  return __lib_ask(t, 2, float3(on.xy, 0.0f), int3(0), slice, s, lod);
}

template <typename T> device T* __lib_word(__lib_texture t, uint x, uint y, uint slice) {
  return (device T*)t.at(t.format(), 0, x, y, slice);
}

// What reads and writes a texel: for positions P, which are followed by a slice's number or not (Q).
#define __AM_ACCESS(P, L, Q, X, Y, Z) \
  vec<T, 4> read(P position Q, L lod = 0) const { \
    __AM_READABLE \
    return __lib_read<T>(__texture, X, Y, Z, lod); \
  } \
  void write(vec<T, 4> color, P position Q, L lod = 0) const { \
    __AM_WRITABLE \
    __lib_write<T>(__texture, color, X, Y, Z, lod); \
  } \
  template <typename E, typename B> void write(imageblock_slice<E, B>, P Q, L = 0) const; \
  sparse_color<vec<T, 4>> sparse_read(P Q, L = 0) const;
#define Q Q
#define __AM_NONE
#define __AM_SLICE_U , uint slice
#define __AM_SLICE_S , ushort slice
#define __AM_FACE_U , uint face, uint cube
#define __AM_FACE_S , ushort face, ushort cube

#define __AM_MODIFY(NAME, P, Q, X, Y, Z) \
  vec<T, 4> atomic_##NAME(P position Q, vec<T, 4> operand) const { \
    __AM_READ_WRITE \
    T old = 0; \
    if (__texture.has(X, Y, Z, 0)) old = __am_atomic_##NAME(__lib_word<T>(__texture, X, Y, Z), operand.x); \
    return vec<T, 4>(old, 0, 0, 0); \
  }
#define __AM_ATOMICS(P, Q, X, Y, Z) \
  __AM_MODIFY(exchange, P, __AM_ALL(Q), X, Y, Z) __AM_MODIFY(fetch_add, P, __AM_ALL(Q), X, Y, Z) __AM_MODIFY(fetch_sub, P, __AM_ALL(Q), X, Y, Z) \
  __AM_MODIFY(fetch_and, P, __AM_ALL(Q), X, Y, Z) __AM_MODIFY(fetch_or, P, __AM_ALL(Q), X, Y, Z) __AM_MODIFY(fetch_xor, P, __AM_ALL(Q), X, Y, Z) \
  __AM_MODIFY(fetch_min, P, __AM_ALL(Q), X, Y, Z) __AM_MODIFY(fetch_max, P, __AM_ALL(Q), X, Y, Z) \
  vec<T, 4> atomic_load(P position Q) const { \
    __AM_READ_WRITE \
    T value = 0; \
    if (__texture.has(X, Y, Z, 0)) value = __am_atomic_load(__lib_word<T>(__texture, X, Y, Z)); \
    return vec<T, 4>(value, 0, 0, 0); \
  } \
  void atomic_store(vec<T, 4> value, P position Q) const { \
    __AM_READ_WRITE \
    if (__texture.has(X, Y, Z, 0)) __am_atomic_store(__lib_word<T>(__texture, X, Y, Z), value.x); \
  } \
  bool atomic_compare_exchange_weak(P position Q, thread vec<T, 4>* expected, vec<T, 4> desired) const { \
    __AM_READ_WRITE \
    if (!__texture.has(X, Y, Z, 0)) return false; \
    T old = __am_atomic_cas(__lib_word<T>(__texture, X, Y, Z), expected->x, desired.x); \
    bool exchanged = old == expected->x; \
    expected->x = old; \
    return exchanged; \
  }

#define __AM_SIZE_1 uint get_width(uint lod = 0) const { return __texture.width(lod); }
#define __AM_SIZE_2 __AM_SIZE_1 uint get_height(uint lod = 0) const { return __texture.height(lod); }
#define __AM_SIZE_3 __AM_SIZE_2 uint get_depth(uint lod = 0) const { return __texture.depth(lod); }
#define __AM_COMMON \
  typedef T value_type; \
  __lib_texture __texture; \
  uint get_num_mip_levels() const { return __texture.levels(); } \
  void fence() const { __am_fence(uint(mem_flags::mem_texture), uint(memory_order_acq_rel), uint(thread_scope_device)); }

// Sampling functions of RESULT: BODY makes the request, from `lod` among others.
#define __AM_SAMPLE_WITH(LOD, PARAMS, OFFSET, REQUEST) \
  vec<T, 4> sample(sampler s, PARAMS, LOD option OFFSET) const { \
    __AM_SAMPLED \
    float lod = __lib_lod_option(__texture, option); \
    return __lib_sample(REQUEST, T(0)); \
  }
#define __AM_SAMPLE_CLAMPED(LOD, PARAMS, OFFSET, REQUEST) \
  vec<T, 4> sample(sampler s, PARAMS, LOD option, min_lod_clamp least OFFSET) const { \
    __AM_SAMPLED \
    float lod = max(__lib_lod_option(__texture, option), least.__lod); \
    return __lib_sample(REQUEST, T(0)); \
  }
#define __AM_SAMPLES(GRADIENT, PARAMS, OFFSET, REQUEST) \
  vec<T, 4> sample(sampler s, PARAMS OFFSET) const { \
    __AM_SAMPLED \
    constexpr float lod = 0.0f; \
    return __lib_sample(REQUEST, T(0)); \
  } \
  __AM_SAMPLE_WITH(level, __AM_ALL(PARAMS), __AM_ALL(OFFSET), REQUEST) \
  __AM_SAMPLE_WITH(bias, __AM_ALL(PARAMS), __AM_ALL(OFFSET), REQUEST) \
  __AM_SAMPLE_WITH(min_lod_clamp, __AM_ALL(PARAMS), __AM_ALL(OFFSET), REQUEST) \
  __AM_SAMPLE_WITH(GRADIENT, __AM_ALL(PARAMS), __AM_ALL(OFFSET), REQUEST) \
  __AM_SAMPLE_CLAMPED(bias, __AM_ALL(PARAMS), __AM_ALL(OFFSET), REQUEST) \
  __AM_SAMPLE_CLAMPED(GRADIENT, __AM_ALL(PARAMS), __AM_ALL(OFFSET), REQUEST) \
  __AM_SPARSE(__AM_VECTOR)
#define __AM_VECTOR vec<T, 4>
// What is only declared is of fragment functions, which are checked and do not run, and of sparse textures.
#define __AM_SPARSE(RESULT) \
  template <typename... Args> sparse_color<RESULT> sparse_sample(sampler, Args...) const; \
  template <typename... Args> sparse_color<vec<T, 4>> sparse_gather(sampler, Args...) const;
#define __AM_LEVELS(AT) \
  float calculate_clamped_lod(sampler, AT) const; \
  float calculate_unclamped_lod(sampler, AT) const;
#define __AM_ALL(...) __VA_ARGS__
#define __AM_GATHERS(PARAMS, REQUEST) \
  vec<T, 4> gather(sampler s, PARAMS, int2 offset = int2(0), component c = component::x) const { \
    __AM_SAMPLED \
    constexpr float lod = 0.0f; \
    return __lib_gather<T>(REQUEST, uint(c)); \
  }

// Of a cube, on the face that the direction meets.
#define __AM_CUBE_GATHER(PARAMS, REQUEST) \
  vec<T, 4> gather(sampler s, PARAMS, component c = component::x) const { \
    __AM_SAMPLED \
    constexpr float lod = 0.0f; \
    return __lib_gather<T>(REQUEST, uint(c)); \
  }

template <typename T, access A = access::sample, memory_coherence C = memory_coherence_threadgroup> struct texture1d {
  __AM_COMMON
  __AM_SPARSE(__AM_VECTOR)
  __AM_SIZE_1
  __AM_ACCESS(uint, uint, __AM_NONE, position, 0, 0)
  __AM_ACCESS(ushort, ushort, __AM_NONE, position, 0, 0)
  __AM_ATOMICS(uint, __AM_NONE, position, 0, 0)
  vec<T, 4> sample(sampler s, float at) const {
    __AM_SAMPLED
    return __lib_sample(__lib_ask(__texture, 1, float3(at, 0.0f, 0.0f), int3(0), 0, s, 0.0f), T(0));
  }
};

template <typename T, access A = access::sample, memory_coherence C = memory_coherence_threadgroup> struct texture1d_array {
  __AM_COMMON
  __AM_SPARSE(__AM_VECTOR)
  __AM_SIZE_1
  uint get_array_size() const { return __texture.slices(); }
  __AM_ACCESS(uint, uint, __AM_SLICE_U, position, 0, slice)
  __AM_ACCESS(ushort, ushort, __AM_SLICE_S, position, 0, slice)
  __AM_ATOMICS(uint, __AM_SLICE_U, position, 0, slice)
  vec<T, 4> sample(sampler s, float at, uint slice) const {
    __AM_SAMPLED
    return __lib_sample(__lib_ask(__texture, 1, float3(at, 0.0f, 0.0f), int3(0), __lib_slice(__texture, slice), s, 0.0f), T(0));
  }
};

#define __AM_ASK_2D __lib_ask(__texture, 2, float3(at, 0.0f), int3(offset, 0), 0, s, lod)
#define __AM_ASK_2D_ARRAY __lib_ask(__texture, 2, float3(at, 0.0f), int3(offset, 0), __lib_slice(__texture, slice), s, lod)
template <typename T, access A = access::sample, memory_coherence C = memory_coherence_threadgroup> struct texture2d {
  __AM_COMMON
  __AM_LEVELS(float2)
  __AM_SIZE_2
  __AM_ACCESS(uint2, uint, __AM_NONE, position.x, position.y, 0)
  __AM_ACCESS(ushort2, ushort, __AM_NONE, position.x, position.y, 0)
  __AM_ATOMICS(uint2, __AM_NONE, position.x, position.y, 0)
  __AM_SAMPLES(gradient2d, __AM_ALL(float2 at), __AM_ALL(, int2 offset = int2(0)), __AM_ASK_2D)
  __AM_GATHERS(__AM_ALL(float2 at), __AM_ASK_2D)
};

template <typename T, access A = access::sample, memory_coherence C = memory_coherence_threadgroup> struct texture2d_array {
  __AM_COMMON
  __AM_LEVELS(float2)
  __AM_SIZE_2
  uint get_array_size() const { return __texture.slices(); }
  __AM_ACCESS(uint2, uint, __AM_SLICE_U, position.x, position.y, slice)
  __AM_ACCESS(ushort2, ushort, __AM_SLICE_S, position.x, position.y, slice)
  __AM_ATOMICS(uint2, __AM_SLICE_U, position.x, position.y, slice)
  __AM_SAMPLES(gradient2d, __AM_ALL(float2 at, uint slice), __AM_ALL(, int2 offset = int2(0)), __AM_ASK_2D_ARRAY)
  __AM_GATHERS(__AM_ALL(float2 at, uint slice), __AM_ASK_2D_ARRAY)
};

template <typename T, access A = access::sample, memory_coherence C = memory_coherence_threadgroup> struct texture3d {
  __AM_COMMON
  __AM_LEVELS(float3)
  __AM_SIZE_3
  __AM_ACCESS(uint3, uint, __AM_NONE, position.x, position.y, position.z)
  __AM_ACCESS(ushort3, ushort, __AM_NONE, position.x, position.y, position.z)
  __AM_ATOMICS(uint3, __AM_NONE, position.x, position.y, position.z)
  __AM_SAMPLES(gradient3d, __AM_ALL(float3 at), __AM_ALL(, int3 offset = int3(0)), __lib_ask(__texture, 3, at, offset, 0, s, lod))
};

template <typename T, access A = access::sample, memory_coherence C = memory_coherence_threadgroup> struct texturecube {
  __AM_COMMON
  __AM_LEVELS(float3)
  __AM_SIZE_2
  __AM_ACCESS(uint2, uint, __AM_SLICE_U, position.x, position.y, slice)
  __AM_ACCESS(ushort2, ushort, __AM_SLICE_S, position.x, position.y, slice)
  __AM_ATOMICS(uint2, __AM_SLICE_U, position.x, position.y, slice)
  __AM_SAMPLES(gradientcube, float3 at, __AM_NONE, __lib_ask_cube(__texture, at, 0, s, lod))
  __AM_CUBE_GATHER(float3 at, __lib_ask_cube(__texture, at, 0, s, lod))
};

template <typename T, access A = access::sample, memory_coherence C = memory_coherence_threadgroup> struct texturecube_array {
  __AM_COMMON
  __AM_LEVELS(float3)
  __AM_SIZE_2
  uint get_array_size() const { return __texture.slices() / 6u; }
  __AM_ACCESS(uint2, uint, __AM_FACE_U, position.x, position.y, cube * 6u + face)
  __AM_ACCESS(ushort2, ushort, __AM_FACE_S, position.x, position.y, cube * 6u + face)
  __AM_ATOMICS(uint2, __AM_FACE_U, position.x, position.y, cube * 6u + face)
  __AM_SAMPLES(gradientcube, __AM_ALL(float3 at, uint cube), __AM_NONE, __lib_ask_cube(__texture, at, cube, s, lod))
  __AM_CUBE_GATHER(__AM_ALL(float3 at, uint cube), __lib_ask_cube(__texture, at, cube, s, lod))
};

template <typename T, access A = access::read> struct texture_buffer {
  __AM_COMMON
  uint get_width() const { return __texture.full_width(); }
  vec<T, 4> read(uint position) const {
    __AM_READABLE
    return __lib_read<T>(__texture, position, 0, 0, 0);
  }
  void write(vec<T, 4> color, uint position) const {
    __AM_WRITABLE
    __lib_write<T>(__texture, color, position, 0, 0, 0);
  }
  __AM_ATOMICS(uint, __AM_NONE, position, 0, 0)
};

// Depth textures have one channel. Their functions are those of colours with one more family, which compare.
#define __AM_DEPTH_READ(P, L, Q, X, Y, Z) \
  T read(P position Q, L lod = 0) const { return __lib_read<T>(__texture, X, Y, Z, lod).x; } \
  sparse_color<T> sparse_read(P Q, L = 0) const;
#define __AM_DEPTH_WITH(LOD, PARAMS, OFFSET, REQUEST) \
  T sample(sampler s, PARAMS, LOD option OFFSET) const { \
    __AM_SAMPLED \
    float lod = __lib_lod_option(__texture, option); \
    return __lib_sample(REQUEST, T(0)).x; \
  } \
  T sample_compare(sampler s, PARAMS, float compare_value, LOD option OFFSET) const { \
    __AM_SAMPLED \
    float lod = __lib_lod_option(__texture, option); \
    return __lib_compare(REQUEST, compare_value); \
  }
#define __AM_DEPTH_CLAMPED(LOD, PARAMS, OFFSET, REQUEST) \
  T sample(sampler s, PARAMS, LOD option, min_lod_clamp least OFFSET) const { \
    __AM_SAMPLED \
    float lod = max(__lib_lod_option(__texture, option), least.__lod); \
    return __lib_sample(REQUEST, T(0)).x; \
  }
#define __AM_DEPTH_SAMPLES(GRADIENT, PARAMS, OFFSET, REQUEST) \
  T sample(sampler s, PARAMS OFFSET) const { \
    __AM_SAMPLED \
    constexpr float lod = 0.0f; \
    return __lib_sample(REQUEST, T(0)).x; \
  } \
  T sample_compare(sampler s, PARAMS, float compare_value OFFSET) const { \
    __AM_SAMPLED \
    constexpr float lod = 0.0f; \
    return __lib_compare(REQUEST, compare_value); \
  } \
  __AM_DEPTH_WITH(level, __AM_ALL(PARAMS), __AM_ALL(OFFSET), REQUEST) \
  __AM_DEPTH_WITH(bias, __AM_ALL(PARAMS), __AM_ALL(OFFSET), REQUEST) \
  __AM_DEPTH_WITH(min_lod_clamp, __AM_ALL(PARAMS), __AM_ALL(OFFSET), REQUEST) \
  __AM_DEPTH_WITH(GRADIENT, __AM_ALL(PARAMS), __AM_ALL(OFFSET), REQUEST) \
  __AM_DEPTH_CLAMPED(bias, __AM_ALL(PARAMS), __AM_ALL(OFFSET), REQUEST) \
  __AM_DEPTH_CLAMPED(GRADIENT, __AM_ALL(PARAMS), __AM_ALL(OFFSET), REQUEST) \
  __AM_SPARSE(T) \
  template <typename... Args> sparse_color<T> sparse_sample_compare(sampler, Args...) const; \
  template <typename... Args> sparse_color<vec<T, 4>> sparse_gather_compare(sampler, Args...) const;
#define __AM_DEPTH_GATHERS(PARAMS, OFFSET, REQUEST) \
  vec<T, 4> gather(sampler s, PARAMS OFFSET) const { \
    __AM_SAMPLED \
    constexpr float lod = 0.0f; \
    return __lib_gather<T>(REQUEST, 0u); \
  } \
  vec<T, 4> gather_compare(sampler s, PARAMS, float compare_value OFFSET) const { \
    __AM_SAMPLED \
    constexpr float lod = 0.0f; \
    return __lib_gather_compared(REQUEST, compare_value); \
  }

template <typename T, access A = access::sample, memory_coherence C = memory_coherence_threadgroup> struct depth2d {
  __AM_COMMON
  __AM_LEVELS(float2)
  __AM_SIZE_2
  __AM_DEPTH_READ(uint2, uint, __AM_NONE, position.x, position.y, 0)
  __AM_DEPTH_READ(ushort2, ushort, __AM_NONE, position.x, position.y, 0)
  __AM_DEPTH_SAMPLES(gradient2d, __AM_ALL(float2 at), __AM_ALL(, int2 offset = int2(0)), __AM_ASK_2D)
  __AM_DEPTH_GATHERS(__AM_ALL(float2 at), __AM_ALL(, int2 offset = int2(0)), __AM_ASK_2D)
};
template <typename T, access A = access::sample, memory_coherence C = memory_coherence_threadgroup> struct depth2d_array {
  __AM_COMMON
  __AM_LEVELS(float2)
  __AM_SIZE_2
  uint get_array_size() const { return __texture.slices(); }
  __AM_DEPTH_READ(uint2, uint, __AM_SLICE_U, position.x, position.y, slice)
  __AM_DEPTH_READ(ushort2, ushort, __AM_SLICE_S, position.x, position.y, slice)
  __AM_DEPTH_SAMPLES(gradient2d, __AM_ALL(float2 at, uint slice), __AM_ALL(, int2 offset = int2(0)), __AM_ASK_2D_ARRAY)
  __AM_DEPTH_GATHERS(__AM_ALL(float2 at, uint slice), __AM_ALL(, int2 offset = int2(0)), __AM_ASK_2D_ARRAY)
};
template <typename T, access A = access::sample, memory_coherence C = memory_coherence_threadgroup> struct depthcube {
  __AM_COMMON
  __AM_LEVELS(float3)
  __AM_SIZE_2
  __AM_DEPTH_READ(uint2, uint, __AM_SLICE_U, position.x, position.y, slice)
  __AM_DEPTH_READ(ushort2, ushort, __AM_SLICE_S, position.x, position.y, slice)
  __AM_DEPTH_SAMPLES(gradientcube, float3 at, __AM_NONE, __lib_ask_cube(__texture, at, 0, s, lod))
  __AM_DEPTH_GATHERS(float3 at, __AM_NONE, __lib_ask_cube(__texture, at, 0, s, lod))
};
template <typename T, access A = access::sample, memory_coherence C = memory_coherence_threadgroup> struct depthcube_array {
  __AM_COMMON
  __AM_LEVELS(float3)
  __AM_SIZE_2
  uint get_array_size() const { return __texture.slices() / 6u; }
  __AM_DEPTH_READ(uint2, uint, __AM_FACE_U, position.x, position.y, cube * 6u + face)
  __AM_DEPTH_READ(ushort2, ushort, __AM_FACE_S, position.x, position.y, cube * 6u + face)
  __AM_DEPTH_SAMPLES(gradientcube, __AM_ALL(float3 at, uint cube), __AM_NONE, __lib_ask_cube(__texture, at, cube, s, lod))
  __AM_DEPTH_GATHERS(__AM_ALL(float3 at, uint cube), __AM_NONE, __lib_ask_cube(__texture, at, cube, s, lod))
};

// Whether nothing is bound: true of arguments that function constants disable.
#define __AM_IS_NULL(TYPE) \
  template <typename T, access A, memory_coherence C> bool is_null_texture(TYPE<T, A, C> t) { return t.__texture.is_null(); }
__AM_IS_NULL(texture1d) __AM_IS_NULL(texture1d_array) __AM_IS_NULL(texture2d) __AM_IS_NULL(texture2d_array)
__AM_IS_NULL(texture3d) __AM_IS_NULL(texturecube) __AM_IS_NULL(texturecube_array) __AM_IS_NULL(depth2d)
__AM_IS_NULL(depth2d_array) __AM_IS_NULL(depthcube) __AM_IS_NULL(depthcube_array)

}

#undef __AM_ACCESS
#undef __AM_CUBE_GATHER
#undef __AM_ALL
#undef __AM_ASK_2D
#undef __AM_ASK_2D_ARRAY
#undef __AM_ATOMICS
#undef __AM_COMMON
#undef __AM_DEPTH_GATHERS
#undef __AM_DEPTH_READ
#undef __AM_DEPTH_SAMPLES
#undef __AM_DEPTH_WITH
#undef __AM_FACE_S
#undef __AM_FACE_U
#undef __AM_GATHERS
#undef __AM_IS_NULL
#undef __AM_MODIFY
#undef __AM_NONE
#undef __AM_READABLE
#undef __AM_READ_WRITE
#undef __AM_SAMPLED
#undef __AM_SAMPLES
#undef __AM_SAMPLE_WITH
#undef __AM_SIZE_1
#undef __AM_SIZE_2
#undef __AM_SIZE_3
#undef __AM_SLICE_S
#undef __AM_SLICE_U
#undef __AM_WRITABLE
#undef __AM_DEPTH_CLAMPED
#undef __AM_LEVELS
#undef __AM_SAMPLE_CLAMPED
#undef __AM_SPARSE
#undef __AM_VECTOR
