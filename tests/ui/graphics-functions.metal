// Parameters, members and results that graphics functions cannot have, and built-in values of other types.
// checked
#include <metal_stdlib>
using namespace metal;

struct Vertex
{
    float3 position [[attribute(0)]];
    float4x4 transform [[attribute(1)]]; //~ stage-in
    float2 uv [[attribute(0)]]; //~ duplicate-index
    float4 color; //~ stage-in: no attribute number
};

struct Varying
{
    float3 position [[position]]; //~ stage-attribute-type: `position` is `float4`, not `float3`
    float4 again [[position]]; //~ duplicate-attribute
    int size [[point_size]]; //~ stage-attribute-type
    float4 color [[color(0)]]; //~ stage-attribute: `color` is not an output of vertex functions
    bool front [[front_facing]]; //~ stage-attribute
    packed_float3 normal; //~ stage-result
    float2 first [[user(uv)]];
    float2 second [[user(uv)]]; //~ duplicate-attribute
};

vertex Varying attributes(Vertex in [[stage_in]])
{
    return Varying{};
}

vertex float4 inputs(float index [[vertex_id]], //~ stage-attribute-type: `ushort` or `uint`
                     bool front [[front_facing]], //~ stage-attribute: not an input of vertex functions
                     uint lane [[thread_index_in_threadgroup]], //~ stage-attribute
                     threadgroup float* shared [[threadgroup(0)]], //~ stage-parameter
                     device float* a [[buffer(1)]],
                     constant float& b [[buffer(1)]], //~ duplicate-index
                     float4 value) //~ stage-parameter
{
    return value;
}

vertex float4 bases(ushort id [[vertex_id]],
                    uint base [[base_vertex]]) //~ stage-attribute-type: wider than `vertex_id`
{
    return float4(id + base);
}

struct Unplaced
{
    float2 uv;
};

vertex Unplaced unplaced() //~ stage-result: a member `position`
{
    return Unplaced{float2(0)};
}

vertex float2 two() //~ stage-result
{
    return float2(0);
}

vertex float4 single(float2 uv [[stage_in]]) //~ stage-in: a structure
{
    return float4(uv, 0, 1);
}

struct Fragment
{
    float4 position [[position, center_perspective]]; //~ stage-in: only `center_no_perspective`
    int index [[center_perspective]]; //~ stage-in: only `flat`
    float values[2]; //~ stage-in: cannot be stage-in data
    uint vertex_index [[vertex_id]]; //~ stage-attribute
};

struct Colors
{
    float4 a [[color(0)]];
    float4 b [[color(0)]]; //~ duplicate-index
    float4 c [[color(0), index(1)]];
    ulong d [[color(1)]]; //~ stage-attribute-type
    float4 e [[color(8)]]; //~ attribute-argument
    half z [[depth(any)]]; //~ stage-attribute-type
    uint mask [[sample_mask]];
    uint stencil [[stencil]];
};

fragment Colors shade(Fragment in [[stage_in]],
                      Fragment again [[stage_in]], //~ stage-in: one argument
                      float2 at [[position]]) //~ stage-attribute-type
{
    return Colors{};
}

struct Depth
{
    float4 color [[color(0)]];
    float z [[depth(nearer)]]; //~ attribute-argument
};

fragment Depth depth()
{
    return Depth{};
}

struct Two
{
    float4 a; //~ stage-result: each has a number
    float4 b;
};

fragment Two two_colors()
{
    return Two{};
}

struct Early
{
    float z [[depth(any)]];
};

[[early_fragment_tests]] fragment Early early() //~ stage-result
{
    return Early{0};
}

[[early_fragment_tests]] vertex float4 late() //~ stage-attribute
{
    return float4(0);
}

struct Payload
{
    float value;
};

[[object]] float object_result() { return 1; } //~ stage-result

[[mesh]] void mesh_inputs(object_data Payload& payload [[payload]], //~ stage-parameter: `const`
                          mesh_grid_properties grid) //~ stage-parameter
{
}

[[object]] void by_value(Payload payload [[payload]]) //~ stage-parameter
{
}

struct Rejection
{
    bool more [[continue_search]];
};

[[intersection(bounding_box)]] Rejection no_hit(texture2d<float> t [[texture(0)]]) //~ stage-parameter
//~^ stage-result: a member `accept_intersection`
{
    return Rejection{true};
}

float4 helper()
{
    return late(); //~ kernel-call
}
