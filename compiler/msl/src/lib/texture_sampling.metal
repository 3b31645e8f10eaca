// Samplers, and how texels are found and filtered. Both are eight bytes in every memory, as Metal's resource
// ids are.
#pragma METAL fp math_mode(safe)

namespace metal {

enum class coord { normalized, pixel };
enum class filter { nearest, linear };
enum class min_filter { nearest, linear };
enum class mag_filter { nearest, linear };
enum class mip_filter { none, nearest, linear };
enum class address { clamp_to_edge, clamp_to_zero, repeat, mirrored_repeat, clamp_to_border };
enum class s_address { clamp_to_edge, clamp_to_zero, repeat, mirrored_repeat, clamp_to_border };
enum class t_address { clamp_to_edge, clamp_to_zero, repeat, mirrored_repeat, clamp_to_border };
enum class r_address { clamp_to_edge, clamp_to_zero, repeat, mirrored_repeat, clamp_to_border };
enum class border_color { transparent_black, opaque_black, opaque_white };
enum class compare_func { never, less, less_equal, greater, greater_equal, equal, not_equal, always };
enum class component { x, y, z, w };
enum memory_coherence { memory_coherence_threadgroup, memory_coherence_device };

struct max_anisotropy {
  int __value;
  explicit constexpr max_anisotropy(int value) : __value(value) {}
};
struct lod_clamp {
  float __min, __max;
  constexpr lod_clamp(float least, float most) : __min(least), __max(most) {}
};

// A sampler's state, as `anymetal_abi::textures` has it: address modes from bits 0, 3 and 6 on, the
// magnifying filter from 9, the minifying one from 10, that between levels from 11, pixel coordinates at
// 13, the border's colour from 14, the comparison from 16, at 19 whether levels are clamped, and bit 20
// set. The second word has the least level and from bit 16 on the largest, in parts of 4,096.
constexpr uint __lib_with(uint state, uint bits, uint at, uint value) {
  return (state & ~(((1u << bits) - 1u) << at)) | (value << at);
}
constexpr uint __lib_set(uint state, coord value) { return __lib_with(state, 1, 13, uint(value)); }
constexpr uint __lib_set(uint state, s_address value) { return __lib_with(state, 3, 0, uint(value)); }
constexpr uint __lib_set(uint state, t_address value) { return __lib_with(state, 3, 3, uint(value)); }
constexpr uint __lib_set(uint state, r_address value) { return __lib_with(state, 3, 6, uint(value)); }
constexpr uint __lib_set(uint state, address value) { return __lib_with(state, 9, 0, uint(value) * 73u); }
constexpr uint __lib_set(uint state, mag_filter value) { return __lib_with(state, 1, 9, uint(value)); }
constexpr uint __lib_set(uint state, min_filter value) { return __lib_with(state, 1, 10, uint(value)); }
constexpr uint __lib_set(uint state, filter value) { return __lib_with(state, 2, 9, uint(value) * 3u); }
constexpr uint __lib_set(uint state, mip_filter value) { return __lib_with(state, 2, 11, uint(value)); }
constexpr uint __lib_set(uint state, border_color value) { return __lib_with(state, 2, 14, uint(value)); }
constexpr uint __lib_set(uint state, compare_func value) { return __lib_with(state, 3, 16, uint(value)); }
constexpr uint __lib_set(uint state, max_anisotropy value) { return state; }
constexpr uint __lib_set(uint state, lod_clamp value) { return state | (1u << 19); }
constexpr uint __lib_state(uint state) { return state; }
template <typename First, typename... Rest> constexpr uint __lib_state(uint state, First first, Rest... rest) {
  return __lib_state(__lib_set(state, first), rest...);
}
template <typename T> constexpr float __lib_lod_of(T, bool) { return 0.0f; }
constexpr float __lib_lod_of(lod_clamp value, bool most) { return most ? value.__max : value.__min; }
constexpr float __lib_lod(bool) { return 0.0f; }
template <typename First, typename... Rest> constexpr float __lib_lod(bool most, First first, Rest... rest) {
  return __lib_lod_of(first, most) + __lib_lod(most, rest...);
}

constexpr uint __lib_lod_bits(float lod) { return lod > 0.0f ? lod < 15.0f ? uint(lod * 4096.0f + 0.5f) : 61440u : 0u; }

struct alignas(8) sampler {
  uint __state, __levels;
  constexpr sampler() : __state(1u << 20), __levels(0) {}
  template <typename... Options> constexpr sampler(Options... options)
      : __state(__lib_state(1u << 20, options...)),
        __levels(__lib_lod_bits(__lib_lod(false, options...)) | (__lib_lod_bits(__lib_lod(true, options...)) << 16)) {}
  float __lod_min() const { return float(int(__levels & 65535u)) * 0x1p-12f; }
  float __lod_max() const { return float(int(__levels >> 16)) * 0x1p-12f; }
};

// Texels of a sparse texture, and whether memory is mapped there.
template <typename T> struct sparse_color {
  T __value;
  bool __resident;
  constexpr sparse_color(T value, bool resident) : __value(value), __resident(resident) {}
  constexpr bool resident() const { return __resident; }
  constexpr T value() const { return __value; }
};

// A part of an imageblock, to be written to a texture.
template <typename E, typename L> struct imageblock_slice {
  ulong __slice;
};

struct level {
  float __lod;
  explicit constexpr level(float lod) : __lod(lod) {}
};
struct bias {
  float __lod;
  explicit constexpr bias(float lod) : __lod(lod) {}
};
struct min_lod_clamp {
  float __lod;
  explicit constexpr min_lod_clamp(float lod) : __lod(lod) {}
};
struct gradient2d {
  float2 __dx, __dy;
  constexpr gradient2d(float2 dx, float2 dy) : __dx(dx), __dy(dy) {}
};
struct gradient3d {
  float3 __dx, __dy;
  constexpr gradient3d(float3 dx, float3 dy) : __dx(dx), __dy(dy) {}
};
struct gradientcube {
  float3 __dx, __dy;
  constexpr gradientcube(float3 dx, float3 dy) : __dx(dx), __dy(dy) {}
};

struct __lib_texture_level {
  ulong __offset, __slice_bytes;
  uint __row_bytes, __unused;
};
struct __lib_texture_info {
  ulong __format;
  uint __width, __height, __depth, __slices, __levels, __swizzle, __samples, __unused;
  __lib_texture_level __level[15];
  device uchar* __texels;
};
// What stands for a texture: 0 for none, the number of an argument of the kernel with the highest bit set, or
// the address of a description. The builtins tell them apart; of an argument they know more than is in
// memory.
struct __lib_texture {
  ulong __id;

  bool is_null() const { return __id == 0ul; }
  constant __lib_texture_info* info() const { return (constant __lib_texture_info*)__am_texture_info(__id); }
  ulong format() const {
    ulong known = __am_texture_format(__id);
    return known != 0 ? known : is_null() ? 0ul : info()->__format;
  }
  // A null texture has no texels along any dimension.
  uint full_width() const { return is_null() ? 0u : info()->__width; }
  uint full_height() const { return is_null() ? 0u : info()->__height; }
  uint full_depth() const { return is_null() ? 0u : info()->__depth; }
  // Where the format is known something is bound, and that has a first slice.
  uint slices() const {
    return is_null() ? 0u : max(info()->__slices, __am_texture_format(__id) != 0ul ? 1u : 0u);
  }
  uint levels() const { return is_null() ? 0u : info()->__levels; }
  // Texels along x, y and z, at a level.
  uint width(uint lod) const { return is_null() ? 0u : max(info()->__width >> lod, 1u); }
  uint height(uint lod) const { return is_null() ? 0u : max(info()->__height >> lod, 1u); }
  uint depth(uint lod) const { return is_null() ? 0u : max(info()->__depth >> lod, 1u); }
  // The texels begin with the first slice of the first level, and a slice has fewer than 2^32.
  device uchar* at(ulong format, uint lod, uint x, uint y, uint slice) const {
    constant __lib_texture_level& l = info()->__level[lod];
    ulong start = (lod == 0 ? 0ul : l.__offset) + slice * l.__slice_bytes;
    uint index = y * (l.__row_bytes >> __lib_size(format)) + x;
    return __am_texture_texels(__id) + start + (ulong(index) << __lib_size(format));
  }
  // Whether there is such a texel; slices are those of depth or of an array.
  bool has(uint x, uint y, uint slice, uint lod) const {
    if (is_null() || (lod != 0 && lod >= info()->__levels)) return false;
    uint count = slice != 0 && info()->__depth > 1 ? depth(lod) : slices();
    return x < width(lod) && y < height(lod) && slice < count;
  }
};

template <typename T> vec<T, 4> __lib_swizzled(vec<T, 4> color, uint swizzle) {
  uint4 from = uint4(swizzle, swizzle >> 8, swizzle >> 16, swizzle >> 24) & 255u;
  vec<T, 4> constants = __am_select(vec<T, 4>(0), vec<T, 4>(1), from == 5u);
  vec<T, 4> low = __am_select(vec<T, 4>(color.x), vec<T, 4>(color.y), from == 1u);
  vec<T, 4> high = __am_select(vec<T, 4>(color.z), vec<T, 4>(color.w), from == 3u);
  return __am_select(__am_select(low, high, from > 1u), constants, from > 3u);
}
// A texel's value, its channels where the view wants them.
template <typename T> vec<T, 4> __lib_value(__lib_texture t, ulong format, uint4 words) {
  vec<T, 4> color = __lib_decode(words, format, T(0));
  return __lib_is_swizzled(format) ? __lib_swizzled<T>(color, t.info()->__swizzle) : color;
}

// What is outside reads as a texel of zeros, and everything of a null texture as zeros.
template <typename T> vec<T, 4> __lib_read(__lib_texture t, uint x, uint y, uint slice, uint lod) {
  if (t.is_null()) return vec<T, 4>(0);
  ulong format = t.format();
  uint4 words = uint4(0);
  if (t.has(x, y, slice, lod)) words = __lib_load(t.at(format, lod, x, y, slice), __lib_size(format));
  return __lib_value<T>(t, format, words);
}
// What is outside is not written.
template <typename T> void __lib_write(__lib_texture t, vec<T, 4> color, uint x, uint y, uint slice, uint lod) {
  ulong format = t.format();
  if (t.has(x, y, slice, lod)) __lib_store(t.at(format, lod, x, y, slice), __lib_size(format), __lib_encode(color, format));
}

// Two texels along a dimension, -1 where there is none, and the weight of the second.
struct __lib_axis {
  int first, second;
  float weight;
};
int __lib_wrapped(int i, int size, uint mode, bool shifted) {
  if (mode == uint(address::clamp_to_zero) || mode == uint(address::clamp_to_border)) return i >= 0 && i < size ? i : -1;
  if (mode == uint(address::repeat)) {
    if (shifted) i = i % size;
    return i < 0 ? i + size : i >= size ? i - size : i;
  }
  if (mode == uint(address::mirrored_repeat) && shifted) {
    i = i % (2 * size);
    i = i < 0 ? i + 2 * size : i;
    i = i < size ? i : 2 * size - 1 - i;
  }
  return clamp(i, 0, size - 1);
}
__lib_axis __lib_locate(float u, uint size, uint mode, bool pixel, bool linear, int offset) {
  float extent = float(int(size)), x = u;
  if (!pixel) {
    if (mode == uint(address::repeat)) u = u - __am_floor(u);
    else if (mode == uint(address::mirrored_repeat)) u = 1.0f - __am_fabs(u - 2.0f * __am_floor(0.5f * u) - 1.0f);
    x = u * extent;
  }
  // That no extent is as large as the last number says that integers have room for what is limited.
  x = __am_fmin(__am_fmax(linear ? x - 0.5f : x, -2.0f), __am_fmin(extent + 2.0f, 0x1p24f));
  float whole = __am_floor(x);
  __lib_axis axis;
  axis.first = __lib_wrapped(int(whole) + offset, int(size), mode, offset != 0);
  axis.second = linear ? __lib_wrapped(int(whole) + offset + 1, int(size), mode, offset != 0) : axis.first;
  axis.weight = x - whole;
  return axis;
}

// A sampler applied to one level of a texture with one to three dimensions.
struct __lib_footprint {
  __lib_texture t;
  ulong format;
  uint lod, slice, dimensions, border;
  // Whether there may be no texel where it is asked for one: other address modes give texels only.
  bool has_outside;
  __lib_axis x, y, z;

  template <typename T> vec<T, 4> texel(int i, int j, int k) const {
    uint4 words = uint4(0);
    bool inside = !has_outside || (i | j | k) >= 0;
    if (inside) words = __lib_load(t.at(format, lod, uint(i), uint(j), dimensions == 3 ? uint(k) : slice), __lib_size(format));
    vec<T, 4> color = __lib_value<T>(t, format, words);
    if (border == 0 || inside) return color;
    return border == 3 ? vec<T, 4>(1) : vec<T, 4>(0, 0, 0, border == 2 ? 1 : 0);
  }
};
// Whether a dimension has that mode.
bool __lib_has_mode(uint state, uint dimensions, address mode) {
  bool found = (state & 7u) == uint(mode);
  if (dimensions > 1) found = found || ((state >> 3) & 7u) == uint(mode);
  if (dimensions > 2) found = found || ((state >> 6) & 7u) == uint(mode);
  return found;
}
__lib_footprint __lib_find(__lib_texture t, uint dimensions, float3 at, int3 offset, uint slice, uint lod, uint state, bool linear) {
  bool pixel = ((state >> 13) & 1u) != 0;
  __lib_footprint f;
  f.t = t;
  f.format = t.format();
  f.lod = lod;
  f.slice = slice;
  f.dimensions = dimensions;
  f.border = __lib_has_mode(state, dimensions, address::clamp_to_border) ? 1u + ((state >> 14) & 3u) : 0u;
  f.has_outside = f.border != 0 || __lib_has_mode(state, dimensions, address::clamp_to_zero);
  f.x = __lib_locate(at.x, t.width(lod), state & 7u, pixel, linear, offset.x);
  f.y = f.x;
  f.z = f.x;
  if (dimensions > 1) f.y = __lib_locate(at.y, t.height(lod), (state >> 3) & 7u, pixel, linear, offset.y);
  if (dimensions > 2) f.z = __lib_locate(at.z, t.depth(lod), (state >> 6) & 7u, pixel, linear, offset.z);
  return f;
}
struct __lib_plain_texel {
  float4 get(__lib_footprint f, int i, int j, int k) const { return f.texel<float>(i, j, k); }
};
// 1 or 0: how a texel compares with a reference.
struct __lib_compared_texel {
  uint function;
  float reference;
  float4 get(__lib_footprint f, int i, int j, int k) const {
    float value = f.texel<float>(i, j, k).x, r = reference;
    bool holds = function == 0 ? false : function == 1 ? r < value : function == 2 ? r <= value : function == 3 ? r > value :
                 function == 4 ? r >= value : function == 5 ? r == value : function == 6 ? r != value : true;
    return float4(holds ? 1.0f : 0.0f);
  }
};
// The texel with that number among those of a footprint: bit 0 of it says the second along x, bit 1 along y,
// bit 2 along z. One place in the code reads all of them, which keeps it small.
template <typename Texel> float4 __lib_corner(__lib_footprint f, Texel texel, uint n) {
  int i = (n & 1u) != 0 ? f.x.second : f.x.first;
  int j = f.dimensions < 2 ? 0 : (n & 2u) != 0 ? f.y.second : f.y.first;
  int k = f.dimensions < 3 ? 0 : (n & 4u) != 0 ? f.z.second : f.z.first;
  return texel.get(f, i, j, k);
}
template <typename Texel> float4 __lib_filtered(__lib_footprint f, Texel texel, bool linear) {
  uint count = linear ? 1u << f.dimensions : 1u;
  float4 color = float4(0.0f);
  for (uint n = 0; n < count; n++) {
    float weight = (n & 1u) != 0 ? f.x.weight : 1.0f - f.x.weight;
    if (f.dimensions > 1) weight *= (n & 2u) != 0 ? f.y.weight : 1.0f - f.y.weight;
    if (f.dimensions > 2) weight *= (n & 4u) != 0 ? f.z.weight : 1.0f - f.z.weight;
    float4 one = __lib_corner(f, texel, n);
    color = linear ? __am_fma(one, float4(weight), color) : one;
  }
  return color;
}

// Where and how to sample: what all sampling functions share.
struct __lib_request {
  __lib_texture t;
  uint dimensions, slice;
  float3 at;
  int3 offset;
  sampler s;
  float lod;

  bool is_linear() const { return ((s.__state >> (lod > 0.0f ? 10 : 9)) & 1u) != 0; }
  uint between() const { return (s.__state >> 11) & 3u; }
  // The level, clamped to those that there are.
  float wanted() const {
    float clamped = (s.__state & (1u << 19)) != 0 ? __am_fmin(__am_fmax(lod, s.__lod_min()), s.__lod_max()) : lod;
    return __am_fmin(__am_fmax(clamped, 0.0f), float(int(t.levels()) - 1));
  }
  uint nearest() const { return between() == 0 ? 0u : uint(__am_floor(wanted() + 0.5f)); }
  __lib_footprint find(uint level, bool linear) const {
    return __lib_find(t, dimensions, at, offset, slice, level, s.__state, linear);
  }
};
template <typename Texel> float4 __lib_sampled(__lib_request r, Texel texel) {
  if (r.t.is_null()) return float4(0.0f);
  bool linear = r.is_linear(), mixed = r.between() == uint(mip_filter::linear);
  float lod = mixed ? r.wanted() : 0.0f, second = lod - __am_floor(lod);
  uint first = mixed ? uint(__am_floor(lod)) : r.nearest(), count = second > 0.0f ? 2u : 1u;
  float4 color = float4(0.0f);
  for (uint n = 0; n < count; n++) {
    float4 one = __lib_filtered(r.find(first + n, linear), texel, linear);
    color = n == 0 ? one : __am_fma(one - color, float4(second), color);
  }
  return color;
}
float4 __lib_sample(__lib_request r, float) { return __lib_sampled(r, __lib_plain_texel()); }
half4 __lib_sample(__lib_request r, half) { return half4(__lib_sampled(r, __lib_plain_texel())); }
// Integers are not mixed.
template <typename T> vec<T, 4> __lib_sample(__lib_request r, T) {
  if (r.t.is_null()) return vec<T, 4>(0);
  __lib_footprint f = r.find(r.nearest(), false);
  return f.texel<T>(f.x.first, r.dimensions > 1 ? f.y.first : 0, r.dimensions > 2 ? f.z.first : 0);
}
float __lib_compare(__lib_request r, float reference) {
  __lib_compared_texel texel;
  texel.function = (r.s.__state >> 16) & 7u;
  texel.reference = reference;
  return __lib_sampled(r, texel).x;
}
// The four texels that a linear filter would mix, against the clock from the lower left one.
template <typename T> vec<T, 4> __lib_gather(__lib_request r, uint c) {
  if (r.t.is_null()) return vec<T, 4>(0);
  __lib_footprint f = r.find(0, true);
  vec<T, 4> found = vec<T, 4>(0);
  for (uint n = 0; n < 4; n++) {
    vec<T, 4> color = f.texel<T>(n == 1 || n == 2 ? f.x.second : f.x.first, n < 2 ? f.y.second : f.y.first, 0);
    found[n] = c == 0 ? color.x : c == 1 ? color.y : c == 2 ? color.z : color.w;
  }
  return found;
}
float4 __lib_gather_compared(__lib_request r, float reference) {
  if (r.t.is_null()) return float4(0.0f);
  __lib_compared_texel texel;
  texel.function = (r.s.__state >> 16) & 7u;
  texel.reference = reference;
  __lib_footprint f = r.find(0, true);
  float4 found = float4(0.0f);
  for (uint n = 0; n < 4; n++) {
    found[n] = texel.get(f, n == 1 || n == 2 ? f.x.second : f.x.first, n < 2 ? f.y.second : f.y.first, 0).x;
  }
  return found;
}

// The level for which a step along x or y of the grid is about a texel.
float __lib_lod_of_steps(float3 dx, float3 dy) {
  float square = __am_fmax(metal::dot(dx, dx), metal::dot(dy, dy));
  return square > 0.0f ? 0.5f * __am_log2(square) : 0.0f;
}
template <typename L> float __lib_lod_option(__lib_texture, L option) { return option.__lod; }
float __lib_lod_option(__lib_texture, bias option) { return option.__lod; }
float __lib_lod_option(__lib_texture t, gradient2d option) {
  float3 size = float3(float(int(t.full_width())), float(int(t.full_height())), 0.0f);
  return __lib_lod_of_steps(float3(option.__dx, 0.0f) * size, float3(option.__dy, 0.0f) * size);
}
float __lib_lod_option(__lib_texture t, gradient3d option) {
  float3 size = float3(float(int(t.full_width())), float(int(t.full_height())), float(int(t.full_depth())));
  return __lib_lod_of_steps(option.__dx * size, option.__dy * size);
}
float __lib_lod_option(__lib_texture t, gradientcube option) {
  float half_size = 0.5f * float(int(t.full_width()));
  return __lib_lod_of_steps(option.__dx * half_size, option.__dy * half_size);
}

// The face of a cube that a direction meets, and where: x and y from 0 to 1, z the number of the face.
float3 __lib_on_cube(float3 d) {
  float3 a = __am_fabs(d);
  if (a.x >= a.y && a.x >= a.z) {
    float2 at = float2(d.x >= 0.0f ? -d.z : d.z, -d.y) / a.x;
    return float3(at * 0.5f + 0.5f, d.x >= 0.0f ? 0.0f : 1.0f);
  }
  if (a.y >= a.z) {
    float2 at = float2(d.x, d.y >= 0.0f ? d.z : -d.z) / a.y;
    return float3(at * 0.5f + 0.5f, d.y >= 0.0f ? 2.0f : 3.0f);
  }
  float2 at = float2(d.z >= 0.0f ? d.x : -d.x, -d.y) / a.z;
  return float3(at * 0.5f + 0.5f, d.z >= 0.0f ? 4.0f : 5.0f);
}

}
