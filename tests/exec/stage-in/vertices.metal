// Stage-in data of several formats and steps, in a region of the grid.
//! covers: MSL 5.2.4
//! kernel: captured
//! threads: 8,3
//! group: 4,2
//! attribute 0: Short2 0 1
//! attribute 1: UChar4NormalizedBgra 4 1
//! attribute 4: UInt 4 3
//! layout 1: 8 x-indexed
//! layout 3: 8 y 2
//! indices 2: u16
//! region: 1,10,0 4,3,1
//! arg 0: f32 9*12
//! arg 1: i16 (7 -1 0 0xff00) (6 -2 255 0) (5 -3 -1 -1) (4 -4 0 0) (3 -5 0xff 0xff) (2 -6 0 255)
//! arg 2: u16 0 3 1 4
//! arg 3: u32 0*21 100 0 200
//! expect 0: f32 206 203 205 102 206 203 205 102 306 303 305 202

#include <metal_stdlib>
using namespace metal;

struct Vertex {
    float2 at [[attribute(0)]];
    half4 color [[attribute(1)]];
    uint instance [[attribute(4)]];
};

kernel void captured(Vertex in [[stage_in]], device float* out [[buffer(0)]], uint3 at [[thread_position_in_grid]],
                     uint3 size [[grid_size]]) {
    if (any(at >= size)) return;
    out[at.y * size.x + at.x] = in.at.x + 0 * in.at.y + 100 * float(in.color.b) + float(in.instance);
}
