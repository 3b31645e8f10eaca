// <metal_command_buffer>: render commands of indirect command buffers. Declared without bodies: nothing here runs.

namespace metal {

enum class primitive_type { point, line, line_strip, triangle, triangle_strip };
enum class cull_mode { none, front, back };
enum class depth_clip_mode { clip, clamp };
enum class triangle_fill_mode { fill, lines };
enum class winding { clockwise, counterclockwise };

struct render_pipeline_state {
  ulong __pipeline;
};
struct depth_stencil_state {
  ulong __state;
};

struct render_command {
  ulong __commands;
  explicit render_command(command_buffer, uint);
  void set_render_pipeline_state(render_pipeline_state);
#define __AM_BUFFERS(NAME) \
  template <typename T> void NAME(device T*, uint); \
  template <typename T> void NAME(constant T*, uint); \
  template <typename T> void NAME(device T*, size_t, uint); \
  template <typename T> void NAME(constant T*, size_t, uint);
  __AM_BUFFERS(set_vertex_buffer)
  __AM_BUFFERS(set_fragment_buffer)
  __AM_BUFFERS(set_object_buffer)
  __AM_BUFFERS(set_mesh_buffer)
#undef __AM_BUFFERS
  void set_object_threadgroup_memory_length(uint, uint);
  void set_cull_mode(cull_mode);
  void set_front_facing_winding(winding);
  void set_triangle_fill_mode(triangle_fill_mode);
  void set_depth_bias(float, float, float);
  void set_depth_clip_mode(depth_clip_mode);
  void set_depth_stencil_state(depth_stencil_state);
  void set_barrier();
  void clear_barrier();
  void draw_primitives(primitive_type, uint, uint, uint, uint = 0);
#define __AM_INDEXED(SPACE, T) void draw_indexed_primitives(primitive_type, uint, SPACE T*, uint, uint = 0, uint = 0);
  __AM_INDEXED(const device, ushort) __AM_INDEXED(const device, uint)
  __AM_INDEXED(constant, ushort) __AM_INDEXED(constant, uint)
#undef __AM_INDEXED
#define __AM_PATCHES(INDICES, POINTS, FACTORS) \
  void draw_patches(uint, uint, uint, INDICES uint*, uint, uint, FACTORS*, uint = 0); \
  void draw_indexed_patches(uint, uint, uint, INDICES uint*, POINTS void*, uint, uint, FACTORS*, uint = 0);
#define __AM_POINTS(INDICES, FACTORS) __AM_PATCHES(INDICES, const device, FACTORS)
#define __AM_FACTORS(FACTORS) \
  __AM_POINTS(const device, const device FACTORS) __AM_POINTS(constant, const device FACTORS) \
  __AM_POINTS(const device, constant FACTORS) __AM_POINTS(constant, constant FACTORS)
  __AM_FACTORS(MTLQuadTessellationFactorsHalf)
  __AM_FACTORS(MTLTriangleTessellationFactorsHalf)
#undef __AM_FACTORS
#undef __AM_POINTS
#undef __AM_PATCHES
  void draw_mesh_threadgroups(uint3, uint3, uint3);
  void draw_mesh_threads(uint3, uint3, uint3);
  void reset();
  void copy_command(render_command);
};

}
