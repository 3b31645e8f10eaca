//! Graphics functions, and what only they use.

use super::{accept, reject};

#[test]
fn vertices_and_fragments() {
    accept(
        "constant bool lit [[function_constant(0)]];
         constant int target [[function_constant(1)]];
         struct In { float3 at [[attribute(0)]]; half4 color [[attribute(1), function_constant(lit)]]; };
         struct Varying {
             float4 at [[position, invariant]];
             float clip [[clip_distance]] [2];
             float size [[point_size]];
             half4 color [[user(color), centroid_no_perspective]];
             uint flags [[flat]];
             ushort layer [[render_target_array_index]];
         };
         vertex Varying v(In in [[stage_in]], constant float4x4& m [[buffer(1)]], ushort id [[vertex_id]],
                          ushort base [[base_vertex]], uint instance [[instance_id]]) {
             Varying out = {};
             out.at = m * float4(in.at, 1);
             return out;
         }
         vertex float4 plain(uint id [[vertex_id]]) { return float4(id); }
         vertex void none(device float* out [[buffer(0)]], uint id [[vertex_id]]) { out[id] = 1; }
         struct Colors { half4 a [[color(0), index(1)]]; int2 b [[color(target)]]; float z [[depth(less)]]; uint mask [[sample_mask]]; };
         fragment Colors f(Varying in [[stage_in]], bool front [[front_facing]], half4 old [[color(0)]],
                           texture2d<float, access::read_write> t [[texture(0), raster_order_group(0)]],
                           depth2d_ms<float> d [[texture(1)]], uint sample [[sample_id]],
                           float3 bary [[barycentric_coord, center_no_perspective]]) {
             if (dfdx(in.at.x) + fwidth(float2(in.at.yz)).x > d.read(uint2(in.at.xy), sample)) discard_fragment();
             return Colors{in.color * half(front), int2(get_num_samples()), 0, 1};
         }
         struct Pulled { interpolant<float2, interpolation::perspective> uv; };
         fragment float4 pull(Pulled in [[stage_in]], texture2d_array<float> t [[texture(0)]], sampler s [[sampler(0)]]) {
             float2 uv = in.uv.interpolate_at_offset(float2(0.5)) + in.uv.interpolate_at_centroid();
             auto sparse = t.sparse_sample(s, uv, 0, bias(1), min_lod_clamp(2));
             if (!sparse.resident()) return t.sample(s, uv, 0, gradient2d(uv, uv), min_lod_clamp(1.0f));
             return sparse.value() + t.calculate_clamped_lod(s, uv);
         }
         fragment half4 unnumbered() { return half4(1); }
         [[early_fragment_tests]] fragment void silent(float4 at [[position]]) {}",
    );
}

#[test]
fn patches() {
    accept(
        "struct Point { float4 at [[attribute(0)]]; };
         struct Patch { patch_control_point<Point> points; float4 color [[attribute(1)]]; };
         [[patch(quad, 4)]] vertex float4 v(Patch patch [[stage_in]], float2 uv [[position_in_patch]], uint id [[patch_id]]) {
             float4 sum = 0;
             for (size_t i = 0; i < patch.points.size(); i++) sum += patch.points[i].at;
             return sum * uv.x;
         }
         kernel void factors(device MTLQuadTessellationFactorsHalf* out [[buffer(0)]]) { out->insideTessellationFactor[0] = 2; }",
    );
}

#[test]
fn meshes() {
    accept(
        "struct V { float4 at [[position]]; float3 n; };
         struct P { float3 color; bool culled [[primitive_culled]]; };
         using triangles = mesh<V, P, 3, 1, topology::triangle>;
         struct Data { float values[4]; };
         [[object, max_total_threadgroups_per_mesh_grid(8)]] void o(object_data Data& data [[payload]],
             mesh_grid_properties grid, uint lane [[thread_index_in_threadgroup]], threadgroup float* t [[threadgroup(0)]]) {
             data.values[lane & 3] = t[0];
             grid.set_threadgroups_per_grid(uint3(1));
         }
         [[mesh]] void m(triangles out, const object_data Data& data [[payload]], uint lane [[thread_index_in_threadgroup]]) {
             out.set_vertex(lane, V{float4(data.values[0]), float3(0)});
             out.set_index(lane, uchar(lane));
             if (lane == 0) {
                 out.set_primitive(0, P{float3(1), false});
                 out.set_primitive_count(1);
             }
         }
         [[mesh]] void bare(mesh<V, void, 3, 1, topology::line> out) { out.set_primitive_count(0); }
         struct In { V v; P p [[flat]]; };
         fragment float4 f(In in [[stage_in]]) { return float4(in.p.color, 1); }",
    );
}

#[test]
fn functions_for_each_address_space() {
    accept(
        "template <typename T> struct Array {
             T e[4];
             thread T& operator[](uint i) thread { return e[i]; }
             threadgroup T& operator[](uint i) threadgroup { return e[i]; }
             threadgroup_imageblock T& operator[](uint i) threadgroup_imageblock { return e[i]; }
             object_data T& operator[](uint i) object_data { return e[i]; }
             ray_data T& operator[](uint i) ray_data { return e[i]; }
         };
         struct Copied {
             int v;
             thread Copied& operator=(const thread Copied& c) thread = default;
             thread Copied& operator=(const threadgroup Copied& c) thread { v = c.v; return *this; }
             thread Copied& operator=(const threadgroup_imageblock Copied& c) thread { v = c.v; return *this; }
             thread Copied& operator=(const ray_data Copied& c) thread { v = c.v; return *this; }
             thread Copied& operator=(const object_data Copied& c) thread { v = c.v; return *this; }
             threadgroup Copied& operator=(const thread Copied& c) threadgroup = default;
         };
         kernel void k(device int* out, threadgroup Copied* t [[threadgroup(0)]]) {
             Array<int> a;
             a[0] = 1;
             Copied x, y;
             x = y;
             x = t[0];
             t[1] = x;
             out[0] = a[0] + x.v;
         }",
    );
    reject(
        "struct S { int v; int get() thread { return v; } int get() thread { return v; } };",
        &["redefinition"],
    );
}

#[test]
fn tiles_and_ray_tracing() {
    accept(
        "using namespace metal::raytracing;
         struct Pixel { half4 color [[color(0)]]; };
         kernel void tile(imageblock<Pixel, imageblock_layout_implicit> block, ushort2 at [[thread_position_in_threadgroup]],
                          uint layer [[render_target_array_index]], texture2d<half, access::write> t [[texture(0)]]) {
             Pixel p = block.read(at);
             p.color *= 2;
             block.write(p, at);
             t.write(block.slice(0), at);
         }
         struct G { rgba8unorm<half4> albedo [[raster_order_group(0)]]; };
         struct Out { G g [[imageblock_data]]; };
         fragment Out fill(G g [[imageblock_data]]) { Out out; out.g.albedo = g.albedo; return out; }
         struct Hit { bool accept [[accept_intersection]]; bool more [[continue_search]]; float distance [[distance]]; };
         [[intersection(bounding_box, instancing)]] Hit sphere(float3 o [[origin]], float3 d [[direction]],
             float near [[min_distance]], uint id [[primitive_id]], ray_data float2& payload [[payload]],
             const device float4* spheres [[buffer(0)]]) {
             payload.x += spheres[id].w;
             return {true, true, near};
         }
         [[intersection(triangle, triangle_data)]] bool any(float2 at [[barycentric_coord]]) { return at.x > 0.5; }
         kernel void trace(instance_acceleration_structure scene [[buffer(0)]],
                           intersection_function_table<instancing, triangle_data> table [[buffer(1)]],
                           device float* out [[buffer(2)]], uint at [[thread_position_in_grid]]) {
             ray r(float3(0), float3(1), 0.1f);
             intersector<instancing, triangle_data> i;
             i.assume_geometry_type(geometry_type::triangle | geometry_type::bounding_box);
             i.accept_any_intersection(true);
             float2 payload = 0;
             auto hit = i.intersect(r, scene, 0xff, table, payload);
             if (hit.type == intersection_type::triangle) out[at] = hit.distance + hit.triangle_barycentric_coord.x;
             auto near = i.intersect(r, scene, 1);
             intersection_query<instancing, triangle_data> q(r, scene, 0xffu);
             while (q.next()) q.commit_triangle_intersection();
             out[at] += near.instance_id + q.get_committed_distance();
         }",
    );
}

#[test]
fn templates_of_graphics_functions_are_checked_with_their_arguments() {
    accept(
        "template <typename T> fragment T f(float4 at [[position]]) { return T(at); }
         template [[host_name(\"f4\")]] fragment float4 f<float4>(float4);",
    );
    reject(
        "template <typename T> vertex T f(uint at [[position]]) { return T(at); }
         template [[host_name(\"f4\")]] vertex float4 f<float4>(uint);",
        &["stage-attribute"],
    );
}

#[test]
fn a_name_of_a_type_as_a_parameter_hides_it_in_the_body_only() {
    accept("float f(depth2d<float> depth2d, depth2d_array<float> other) { return depth2d.get_width(); }");
}
