// <metal_raytracing> and <metal_curves>. Declared without bodies: nothing here runs. Results and queries have all
// members, whatever the tags are.

namespace metal {
namespace raytracing {

struct triangle_data {};
struct instancing {};
struct world_space_data {};
struct primitive_motion {};
struct instance_motion {};
struct extended_limits {};
struct curve_data {};
struct intersection_function_buffer {};
struct user_data {};
template <uint Count> struct max_levels {};

enum class intersection_type { none, triangle, bounding_box, curve };
enum class triangle_cull_mode { none, front, back };
enum class winding { clockwise, counterclockwise };
enum class geometry_cull_mode : uint { none, triangle, bounding_box, curve = 4 };
enum class opacity_cull_mode { none, opaque, non_opaque };
enum class forced_opacity { none, opaque, non_opaque };
enum class geometry_type : uint { none, triangle, bounding_box, curve = 4, all = 7 };
enum class curve_basis { bspline, catmull_rom, linear, bezier, all };
enum class curve_type { round, flat, all };
constexpr geometry_type operator|(geometry_type a, geometry_type b) { return geometry_type(uint(a) | uint(b)); }
constexpr geometry_type operator&(geometry_type a, geometry_type b) { return geometry_type(uint(a) & uint(b)); }
constexpr geometry_cull_mode operator|(geometry_cull_mode a, geometry_cull_mode b) { return geometry_cull_mode(uint(a) | uint(b)); }
constexpr geometry_cull_mode operator&(geometry_cull_mode a, geometry_cull_mode b) { return geometry_cull_mode(uint(a) & uint(b)); }

struct ray {
  float3 origin, direction;
  float min_distance, max_distance;
  constexpr ray(float3 o = 0.0f, float3 d = 0.0f, float least = 0.0f, float most = INFINITY)
      : origin(o), direction(d), min_distance(least), max_distance(most) {}
};

// The `Count` of the tag `max_levels`, or 0; and whether rays have times.
template <typename... Tags> struct __lib_tags {
  static constant constexpr uint levels = 0;
};
template <uint Count, typename... Rest> struct __lib_tags<max_levels<Count>, Rest...> {
  static constant constexpr uint levels = Count;
};
template <typename First, typename... Rest> struct __lib_tags<First, Rest...> : __lib_tags<Rest...> {};
template <typename... Tags> constant constexpr bool __lib_has_time =
    (... || (is_same_v<Tags, primitive_motion> || is_same_v<Tags, instance_motion>));

template <typename... Tags> struct acceleration_structure {
  ulong __acceleration;
  uint get_instance_count() const;
  template <typename... Others> acceleration_structure<Others...> get_acceleration_structure(uint) const;
  uint get_instance_count() const device;
  template <typename... Others> acceleration_structure<Others...> get_acceleration_structure(uint) const device;
  uint get_instance_count() const constant;
  template <typename... Others> acceleration_structure<Others...> get_acceleration_structure(uint) const constant;
};
using primitive_acceleration_structure = acceleration_structure<>;
using instance_acceleration_structure = acceleration_structure<instancing>;
template <typename... Tags> bool is_null_acceleration_structure(acceleration_structure<Tags...>);
bool is_null_primitive_acceleration_structure(primitive_acceleration_structure);
bool is_null_instance_acceleration_structure(instance_acceleration_structure);

template <typename... Tags> struct intersection_function_table {
  ulong __intersections;
#define __AM_TABLE(SPACE) \
  uint size() const SPACE; \
  bool empty() const SPACE; \
  void set_buffer(const device void*, uint) const SPACE; \
  void set_buffer(constant void*, uint) const SPACE; \
  template <typename T> void set_visible_function_table(visible_function_table<T>, uint) const SPACE; \
  template <typename T> visible_function_table<T> get_visible_function_table(uint) const SPACE; \
  template <typename T> T get_buffer(uint) const SPACE;
  __AM_TABLE(thread) __AM_TABLE(device) __AM_TABLE(constant)
#undef __AM_TABLE
};
template <typename... Tags> bool is_null_intersection_function_table(intersection_function_table<Tags...>);

struct intersection_function_buffer_arguments {
  const device void* intersection_function_buffer;
  size_t intersection_function_buffer_size;
  size_t intersection_function_stride;
};

// With levels, an intersection is in several instances.
template <uint Count> struct __lib_instances {
  uint instance_count;
  uint instance_id[Count];
  uint user_instance_id[Count];
};
template <> struct __lib_instances<0> {
  uint instance_id;
  uint user_instance_id;
};
template <typename... Tags> struct intersection_result : __lib_instances<__lib_tags<Tags...>::levels> {
  intersection_type type;
  float distance;
  uint primitive_id;
  uint geometry_id;
  const device void* primitive_data;
  float2 triangle_barycentric_coord;
  bool triangle_front_facing;
  float4x3 world_to_object_transform;
  float4x3 object_to_world_transform;
  float curve_parameter;
  uint function_id;
};
template <typename... Tags> struct intersection_result_ref {
  ulong __result;
  intersection_type get_type() const;
  float get_distance() const;
  uint get_primitive_id() const;
  uint get_geometry_id() const;
  const device void* get_primitive_data() const;
  float3 get_origin() const;
  float3 get_direction() const;
  float get_min_distance() const;
  float2 get_triangle_barycentric_coord() const;
  bool is_triangle_front_facing() const;
  float get_curve_parameter() const;
  uint get_instance_count() const;
  uint get_instance_id() const;
  uint get_instance_id(uint) const;
  uint get_user_instance_id() const;
  uint get_user_instance_id(uint) const;
  float4x3 get_object_to_world_transform() const;
  float4x3 get_world_to_object_transform() const;
};

#define __AM_TRAVERSAL \
  void set_triangle_front_facing_winding(winding); \
  void set_triangle_cull_mode(triangle_cull_mode); \
  void set_geometry_cull_mode(geometry_cull_mode); \
  void set_opacity_cull_mode(opacity_cull_mode); \
  void force_opacity(forced_opacity); \
  void assume_geometry_type(geometry_type); \
  void assume_identity_transforms(bool); \
  void accept_any_intersection(bool); \
  void assume_curve_basis(curve_basis); \
  void assume_curve_type(curve_type); \
  void assume_curve_control_point_count(uint); \
  void set_base_id(uint); \
  void set_geometry_multiplier(uint);

#define __AM_SCENE ray, acceleration_structure<A...>
#define __AM_TABLE intersection_function_table<Tags...>
#define __AM_BUFFER intersection_function_buffer_arguments
template <typename... Tags> struct intersector {
  typedef intersection_result<Tags...> result_type;
  ulong __intersector;
  intersector();
  __AM_TRAVERSAL
  template <typename... A> result_type intersect(__AM_SCENE, uint = ~0u) const;
// What may follow the acceleration structure (MSL 6.18.2), with a payload and without; and with the ray's time.
#define __AM_INTERSECT(TIMED, ...) \
  template <typename... A TIMED> result_type intersect(__AM_SCENE, __VA_ARGS__) const; \
  template <typename P, typename... A TIMED> result_type intersect(__AM_SCENE, __VA_ARGS__, thread P&) const;
#define __AM_WITHOUT_TIME
#define __AM_TIMED , bool Timed = __lib_has_time<Tags...>, typename = enable_if_t<Timed>
#define __AM_REST(...) \
  __AM_INTERSECT(__AM_WITHOUT_TIME, __VA_ARGS__) \
  __AM_INTERSECT(__AM_WITHOUT_TIME, uint, __VA_ARGS__) \
  __AM_INTERSECT(__AM_TIMED, float, __VA_ARGS__) \
  __AM_INTERSECT(__AM_TIMED, uint, float, __VA_ARGS__)
  __AM_REST(__AM_TABLE)
  __AM_REST(__AM_BUFFER)
  __AM_REST(__AM_BUFFER, const device void*)
  template <typename... A __AM_TIMED> result_type intersect(__AM_SCENE, float) const;
  template <typename... A __AM_TIMED> result_type intersect(__AM_SCENE, uint, float) const;
#undef __AM_REST
#undef __AM_TIMED
#undef __AM_WITHOUT_TIME
#undef __AM_INTERSECT
};
#undef __AM_SCENE
#undef __AM_TABLE
#undef __AM_BUFFER

struct intersection_params {
  ulong __params;
  intersection_params();
  __AM_TRAVERSAL
};
#undef __AM_TRAVERSAL

template <typename... Tags> struct intersection_query {
  ulong __query;
  intersection_query();
#define __AM_START(NAME) \
  template <typename... A> NAME(ray, acceleration_structure<A...>, intersection_params = intersection_params()); \
  template <typename... A> NAME(ray, acceleration_structure<A...>, uint, intersection_params = intersection_params()); \
  template <typename... A> NAME(ray, acceleration_structure<A...>, uint, float, intersection_params = intersection_params());
  __AM_START(intersection_query)
  __AM_START(void reset)
#undef __AM_START
  bool next();
  void abort();
  void commit_triangle_intersection();
  void commit_bounding_box_intersection(float);
  void commit_curve_intersection();
  float3 get_world_space_ray_origin() const;
  float3 get_world_space_ray_direction() const;
  float get_ray_min_distance() const;
  intersection_params get_intersection_params() const;
  float get_candidate_triangle_distance() const;
  bool is_candidate_non_opaque_bounding_box() const;
  float get_committed_distance() const;
#define __AM_HIT(KIND) \
  intersection_type get_##KIND##_intersection_type() const; \
  uint get_##KIND##_instance_count() const; \
  uint get_##KIND##_instance_id() const; \
  uint get_##KIND##_instance_id(uint) const; \
  uint get_##KIND##_user_instance_id() const; \
  uint get_##KIND##_user_instance_id(uint) const; \
  uint get_##KIND##_geometry_id() const; \
  uint get_##KIND##_primitive_id() const; \
  float2 get_##KIND##_triangle_barycentric_coord() const; \
  bool is_##KIND##_triangle_front_facing() const; \
  float4x3 get_##KIND##_object_to_world_transform() const; \
  float4x3 get_##KIND##_world_to_object_transform() const; \
  float3 get_##KIND##_ray_origin() const; \
  float3 get_##KIND##_ray_direction() const; \
  const device void* get_##KIND##_primitive_data() const; \
  float get_##KIND##_curve_parameter() const;
  __AM_HIT(candidate) __AM_HIT(committed)
#undef __AM_HIT
};

}

#define __AM_CURVE3(NAME) template <typename S, typename P> P NAME(S, P, P, P);
#define __AM_CURVE4(NAME) template <typename S, typename P> P NAME(S, P, P, P, P);
#define __AM_CURVES(CURVE, NAME) CURVE(NAME) CURVE(NAME##_derivative) CURVE(NAME##_second_derivative)
__AM_CURVES(__AM_CURVE3, bezier) __AM_CURVES(__AM_CURVE4, bezier)
__AM_CURVES(__AM_CURVE3, bspline) __AM_CURVES(__AM_CURVE4, bspline)
__AM_CURVES(__AM_CURVE4, hermite) __AM_CURVES(__AM_CURVE4, catmull_rom)
#undef __AM_CURVES
#undef __AM_CURVE4
#undef __AM_CURVE3

}

enum MTLAccelerationStructureInstanceOptions : uint {
  MTLAccelerationStructureInstanceOptionNone = 0,
  MTLAccelerationStructureInstanceOptionDisableTriangleCulling = 1 << 0,
  MTLAccelerationStructureInstanceOptionTriangleFrontFacingWindingCounterClockwise = 1 << 1,
  MTLAccelerationStructureInstanceOptionOpaque = 1 << 2,
  MTLAccelerationStructureInstanceOptionNonOpaque = 1 << 3,
};
typedef packed_float3 MTLPackedFloat3;
typedef packed_float3 MTLPackedFloat4x3[4];
struct MTLAccelerationStructureInstanceDescriptor {
  MTLPackedFloat4x3 transformationMatrix;
  MTLAccelerationStructureInstanceOptions options;
  uint mask;
  uint intersectionFunctionTableOffset;
  uint accelerationStructureIndex;
};
struct MTLAccelerationStructureUserIDInstanceDescriptor {
  MTLPackedFloat4x3 transformationMatrix;
  MTLAccelerationStructureInstanceOptions options;
  uint mask;
  uint intersectionFunctionTableOffset;
  uint accelerationStructureIndex;
  uint userID;
};
