// Resources at program scope, which every function sees: buffers, threadgroup memory, textures and samplers.
//! covers: MSL 5.9
//! oracle: exact
//! kernel: first
//! threads: 4
//! group: 4
//! arg 0: f32 0*4
//! arg 1: f32 2 3
//! arg 2: f32 1 2 3 4
//! threadgroup 2: 16
//! texture 0: r32float 4,1 f32 10 20 30 40
//! expect 0: f32 40 32 24 16
//! kernel: second
//! threads: 2
//! group: 2
//! arg 0: f32 0*4
//! arg 5: i32 7 8
//! expect 0: f32 7 8
//! kernel: through
//! arg 0: f32 0*3
//! arg 5: i32 5
//! expect 0: f32 15 0 0
//! kernel: own_argument
//! arg 0: f32 0
//! arg 1: f32 3 4
//! expect 0: f32 10

#include <metal_stdlib>
using namespace metal;

struct Scale { float by; float plus; };

device float* constant out [[buffer(0)]];
constant Scale* constant scale [[buffer(1)]];
const device float* constant in [[buffer(2)]];
threadgroup float* constant shared [[threadgroup(2)]];
texture2d<float> constant t [[texture(0)]];
constant texture2d<float> again [[texture(0)]];
extern constant sampler s [[sampler(3)]];
constant sampler s [[sampler(3)]];
device const int& first_count [[buffer(5)]];
device const int* constant counts [[buffer(5)]];

namespace inner {
    float scaled(float x) { return x * scale->by + scale[0].plus; }
    float texel(uint i) { return t.read(uint2(i, 0)).x + again.get_width() - 4; }
}

kernel void first(uint i [[thread_position_in_threadgroup]])
{
    shared[i] = inner::texel(i);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = inner::scaled(in[i] - 2.5f) + shared[3 - i];
}

struct Writer {
    void write(uint i) const { out[i] = counts[i]; }
};

kernel void second(uint i [[thread_position_in_grid]])
{
    Writer writer;
    writer.write(i);
}

[[visible]] int added(int x) { return x + first_count; }

kernel void through(device float* same)
{
    int (*function)(int) = &added;
    same[0] = function(10);
}

kernel void own_argument(device float* result [[buffer(0)]])
{
    out[0] = inner::scaled(1);
    result[0] += inner::scaled(-1) + 2;
}
