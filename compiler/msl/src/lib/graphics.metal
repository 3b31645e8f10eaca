// <metal_graphics>, <metal_interpolate>, <metal_mesh>, <metal_tessellation>, <metal_imageblocks>: what only graphics
// functions use. It is declared without bodies, because graphics functions are checked and do not run.

namespace metal {

#define __AM_DERIVATIVES(T) T dfdx(T p); T dfdy(T p); T fwidth(T p);
#define __AM_FLOATS(T) __AM_DERIVATIVES(T) __AM_DERIVATIVES(T##2) __AM_DERIVATIVES(T##3) __AM_DERIVATIVES(T##4)
__AM_FLOATS(float) __AM_FLOATS(half)
#undef __AM_FLOATS
#undef __AM_DERIVATIVES

uint get_num_samples();
float2 get_sample_position(uint);
void discard_fragment();
bool simd_is_helper_thread();
bool quad_is_helper_thread();

enum class interpolation { perspective, no_perspective };
template <typename T, interpolation P> struct interpolant {
  typedef T value_type;
  ulong __interpolant;
  T interpolate_at_center() const;
  T interpolate_at_centroid() const;
  T interpolate_at_offset(float2) const;
  T interpolate_at_sample(uint) const;
};

template <typename T> struct patch_control_point {
  typedef T value_type;
  typedef size_t size_type;
  typedef const thread T& const_reference;
  ulong __patch;
  constexpr size_t size() const;
  constexpr const_reference operator[](size_t) const;
};

enum class topology { point, line, triangle };
struct __lib_no_primitive {};
template <typename V, typename P, uint Vertices, uint Primitives, topology Topology> struct mesh {
  typedef V vertex_type;
  typedef P primitive_type;
  static constant constexpr uint max_vertices = Vertices;
  static constant constexpr uint max_primitives = Primitives;
  static constant constexpr uint indices_per_primitive = uint(Topology) + 1u;
  ulong __mesh;
  void set_vertex(uint, V) const;
  void set_primitive(uint, conditional_t<is_void_v<P>, __lib_no_primitive, P>) const;
  void set_primitive_count(uint) const;
  void set_index(uint, uchar) const;
  void set_indices(uint, uchar2) const;
  void set_indices(uint, uchar4) const;
};
struct mesh_grid_properties {
  ulong __mesh_grid;
  void set_threadgroups_per_grid(uint3) const;
};

struct imageblock_layout_explicit;
struct imageblock_layout_implicit;
struct __lib_imageblock_layout_deduced;
enum class imageblock_data_rate { color, sample };
template <typename T, typename L = __lib_imageblock_layout_deduced> struct imageblock {
  ulong __imageblock;
  ushort get_width() const;
  ushort get_height() const;
  ushort get_num_samples() const;
  ushort get_num_colors(ushort2) const;
  ushort get_color_coverage_mask(ushort2, ushort) const;
  T read(ushort2) const;
  T read(ushort2, ushort, imageblock_data_rate) const;
  void write(T, ushort2) const;
  void write(T, ushort2, ushort, imageblock_data_rate) const;
  void write(T, ushort2, ushort) const;
  threadgroup_imageblock T* data(ushort2) const;
  threadgroup_imageblock T* data(ushort2, ushort, imageblock_data_rate) const;
  imageblock_slice<T, imageblock_layout_implicit> slice(ushort) const;
  imageblock_slice<T, imageblock_layout_implicit> slice(ushort, ushort2) const;
  template <typename E> imageblock_slice<E, imageblock_layout_explicit> slice(const threadgroup_imageblock E&) const;
  template <typename E> imageblock_slice<E, imageblock_layout_explicit> slice(const threadgroup_imageblock E&, ushort2) const;
};

struct rasterization_rate_map_data {
  uint __words;
};
struct rasterization_rate_map_decoder {
  ulong __map;
  explicit rasterization_rate_map_decoder(constant rasterization_rate_map_data&);
  float2 map_screen_to_physical_coordinates(float2, uint = 0) const;
  uint2 map_screen_to_physical_coordinates(uint2, uint = 0) const;
  float2 map_physical_to_screen_coordinates(float2, uint = 0) const;
  uint2 map_physical_to_screen_coordinates(uint2, uint = 0) const;
};

// Textures with several samples to a texel.
#define __AM_MULTISAMPLED(NAME, RESULT, SLICE_U, SLICE_S, MORE) \
  template <typename T, access A = access::read, memory_coherence C = memory_coherence_threadgroup> struct NAME { \
    typedef T value_type; \
    __lib_texture __texture; \
    RESULT read(uint2 SLICE_U, uint) const; \
    RESULT read(ushort2 SLICE_S, ushort) const; \
    sparse_color<RESULT> sparse_read(uint2 SLICE_U, uint) const; \
    sparse_color<RESULT> sparse_read(ushort2 SLICE_S, ushort) const; \
    uint get_width() const { return __texture.full_width(); } \
    uint get_height() const { return __texture.full_height(); } \
    uint get_num_samples() const; \
    MORE \
  }; \
  template <typename T, access A, memory_coherence C> bool is_null_texture(NAME<T, A, C> t) { return t.__texture.is_null(); }
#define __AM_SLICE(TYPE) , TYPE
#define __AM_NONE
#define __AM_VECTOR vec<T, 4>
#define __AM_SLICES uint get_array_size() const { return __texture.slices(); }
#define __AM_SLICE_WRITE \
  template <typename E, typename L> void write(imageblock_slice<E, L>, uint2, uint = 0) const; \
  template <typename E, typename L> void write(imageblock_slice<E, L>, ushort2, ushort = 0) const;
__AM_MULTISAMPLED(texture2d_ms, __AM_VECTOR, __AM_NONE, __AM_NONE, __AM_SLICE_WRITE)
__AM_MULTISAMPLED(texture2d_ms_array, __AM_VECTOR, __AM_SLICE(uint), __AM_SLICE(ushort), __AM_SLICES)
__AM_MULTISAMPLED(depth2d_ms, T, __AM_NONE, __AM_NONE, __AM_NONE)
__AM_MULTISAMPLED(depth2d_ms_array, T, __AM_SLICE(uint), __AM_SLICE(ushort), __AM_SLICES)
#undef __AM_MULTISAMPLED
#undef __AM_SLICE
#undef __AM_NONE
#undef __AM_VECTOR
#undef __AM_SLICES
#undef __AM_SLICE_WRITE

}

struct MTLQuadTessellationFactorsHalf {
  half edgeTessellationFactor[4];
  half insideTessellationFactor[2];
};
struct MTLTriangleTessellationFactorsHalf {
  half edgeTessellationFactor[3];
  half insideTessellationFactor;
};
