// Attachments of fragment functions, tags of intersection functions, raster order groups and local variables.
// checked
#include <metal_stdlib>
using namespace metal;
using namespace metal::raytracing;

struct Colors
{
    float4 first [[color(0)]];
    half4 second [[color(1)]];
    half4 blended [[color(1), index(1)]];
};
fragment Colors same(float4 first [[color(0)]], half4 second [[color(1)]], uint4 third [[color(2)]])
{
    return Colors{first, second, second};
}
struct Whole
{
    float4 color [[color(0)]]; //~ stage-attribute-type: color 0 has two types
};
fragment Whole read_as_half(half4 first [[color(0)]])
{
    return Whole{};
}
struct Blended
{
    float4 a [[color(0), index(0)]];
    half4 b [[color(0), index(1)]]; //~ stage-attribute-type: color 0 has two types
};
fragment Blended blended() { return Blended{}; }
fragment float4 plain(float4 before [[color(0)]]) { return before; }
fragment half4 plain_half(float4 before [[color(0)]]) { return half4(before); } //~ stage-attribute-type: color 0
struct Single
{
    float4 value; //~ stage-attribute-type: color 0
};
fragment Single single(half4 before [[color(0)]]) { return Single{}; }

[[early_fragment_tests]] fragment float4 after_tests(uint mask [[sample_mask, post_depth_coverage]])
{
    return mask;
}
fragment float4 before_tests(uint mask [[sample_mask, post_depth_coverage]]) //~ stage-attribute: early_fragment_tests
{
    return mask;
}
fragment float4 tile(ushort2 at [[pixel_position_in_tile]], uint2 size [[pixels_per_tile]]) //~ stage-attribute-type
{
    return at.x + size.x;
}
struct Moved
{
    float4 at [[position, invariant]];
    float size [[point_size, invariant]]; //~ stage-attribute: `position` only
};
vertex Moved moved() { return Moved{}; }

struct Resources
{
    texture2d<float> image [[texture(1)]];
};
fragment void ordered(texture2d<float, access::read_write> image [[texture(0), raster_order_group(0)]],
                      device float4* data [[buffer(0), raster_order_group(1)]],
                      constant float4& value [[buffer(1), raster_order_group(0)]], //~ stage-attribute: device memory
                      sampler s [[sampler(0), raster_order_group(0)]], //~ stage-attribute: device memory
                      Resources resources [[raster_order_group(0)]]) //~ stage-attribute: device memory
{
}

[[intersection(triangle, triangle_data, instancing, world_space_data)]]
bool all(float2 at [[barycentric_coord]], bool front [[front_facing]], uint id [[instance_id]], float d [[distance]],
         float3 origin [[world_space_origin]], float4x3 transform [[object_to_world_transform]])
{
    return front;
}
[[intersection(bounding_box)]]
bool few(float2 at [[barycentric_coord]], //~ stage-attribute: `triangle`
         uint id [[instance_id]], //~ stage-attribute: `instancing`
         float3 origin [[world_space_origin]], //~ stage-attribute: `world_space_data`
         float when [[time]], //~ stage-attribute: `primitive_motion`
         float at_curve [[curve_parameter]], //~ stage-attribute: `curve_data`
         bool is_opaque [[opaque]])
{
    return is_opaque;
}
struct Hit
{
    bool accept [[accept_intersection]];
    float distance [[distance]];
};
[[intersection(bounding_box)]] Hit of_box() { return Hit{true, 1}; }
[[intersection(triangle)]] Hit of_triangle() { return Hit{true, 1}; } //~ stage-attribute: `bounding_box`
[[intersection(sphere)]] bool of_sphere() { return true; } //~ attribute-argument
[[intersection(triangle, user_data)]] bool alone() { return true; } //~ attribute-argument: `intersection_function_buffer`
[[intersection(triangle, world_space_data)]] bool no_instances() { return true; } //~ attribute-argument: `instancing`

float first(array_ref<texture2d<float>> images) { return images[0].read(uint2(0)).x; }
kernel void locals(array<texture2d<float>, 2> images [[texture(0)]],
                   texture2d<float, access::write> target [[texture(2)]], device float* out [[buffer(0)]])
{
    texture2d<float> image = images[0];
    texture2d<float, access::write> other = target; //~ bad-variable: `sample` or `read`
    array_ref<texture2d<float>> reference = images; //~ bad-variable: `array_ref`
    out[0] = first(images) + image.read(uint2(0)).x;
}
