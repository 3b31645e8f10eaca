// Structures of resources that are passed by value: to kernels, where each member has an index of its own,
// and to other functions. An array of pointers takes an index for each.
//! covers: MSL 2.12
//! oracle: exact
//! kernel: nested
//! threads: 4
//! group: 4
//! arg 0: f32 0*4
//! arg 4: f32 1 2 3 4
//! arg 6: f32 100
//! threadgroup 1: 16
//! texture 3: r32float 4,1 f32 10 20 30 40
//! expect 0: f32 141 132 123 114
//! kernel: arrays
//! arg 0: f32 0*4
//! arg 1: f32 1
//! arg 2: f32 2
//! arg 3: f32 3
//! arg 4: f32 40
//! arg 5: f32 50
//! texture 0: r32float 1,1 f32 100
//! texture 1: r32float 1,1 f32 200
//! expect 0: f32 6 90 300 3
//! kernel: optional
//! constant 0: true
//! constant 1: 7
//! arg 0: f32 0
//! arg 2: f32 5
//! arg 7: f32 20
//! expect 0: f32 25
//! kernel: optional
//! constant 0: false
//! constant 1: 9
//! arg 0: f32 0
//! arg 9: f32 20
//! expect 0: f32 20

#include <metal_stdlib>
using namespace metal;

constant bool has_extra [[function_constant(0)]];
constant int place [[function_constant(1)]];

struct Inputs {
    device const float* values [[buffer(4)]];
    texture2d<float> picture [[texture(3)]];
    constant float& offset [[buffer(6)]];
};
struct Everything {
    Inputs in;
    threadgroup float* shared [[threadgroup(1)]];
    device float* out;
};

float sum(Inputs in, uint i) { return in.values[i] + in.offset; }

float other(Everything all, uint i) {
    Inputs copy = all.in;
    all.shared[i] = copy.picture.read(uint2(i, 0)).x;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return all.shared[3 - i];
}

kernel void nested(Everything all, uint i [[thread_position_in_grid]])
{
    all.out[i] = sum(all.in, i) + other(all, i);
}

struct Pair { array<device const float*, 2> of [[buffer(4)]]; array<texture2d<float>, 2> pictures [[texture(0)]]; };

kernel void arrays(device float* out [[buffer(0)]], array<device const float*, 3> parts [[buffer(1)]], Pair pair)
{
    for (size_t i = 0; i < parts.size(); i++) out[0] += *parts[i];
    out[1] = pair.of[0][0] + pair.of[1][0];
    for (uint i = 0; i < 2; i++) out[2] += pair.pictures[i].read(uint2(0)).x;
    out[3] = parts[2][0];
}

struct Optional {
    device const float* extra [[buffer(2), function_constant(has_extra)]];
    device const float* always [[buffer(place)]];
};

kernel void optional(Optional in, device float* out [[buffer(0)]])
{
    out[0] = *in.always;
    if (has_extra) out[0] += *in.extra;
}
