// A float3 takes the room of four; the fourth word is untouched.
//! covers: MSL 2.2
//! kernel: store
//! arg 0: f32 1 2 3 4 5 6 7 8
//! expect 0: f32 10 20 30 4 50 60 70 8

#include <metal_stdlib>
using namespace metal;

kernel void store(device float3* data) {
    data[0] *= 10;
    data[1] = data[1] * 10;
}
