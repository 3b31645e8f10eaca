// Private arrays of structures that are only ever copied whole, partly uninitialised, into variables with members of
// four bytes.
//! kernel: whole
//! threads: 3
//! arg 0: f32 1..19
//! arg 1: f32 0*9
//! expect 1: f32 4 5 6 10 11 12 16 17 18
//! kernel: nested
//! threads: 2
//! arg 0: f32 1..37
//! arg 1: f32 0*4
//! expect 1: f32 20 12 38 48

#include <metal_stdlib>
using namespace metal;

struct Pair {
    float3x2 primal;
    float3x2 differential;
};

struct Camera {
    float3x3 view;
    Pair projection;
};

kernel void whole(device const float3x2* in, device float* out, uint i [[thread_position_in_grid]]) {
    Pair pairs[2];
    Pair some;
    some.primal = in[i];
    pairs[i & 1] = some;
    pairs[~i & 1] = some;
    Pair copied = pairs[(i >> 1) & 1];
    out[3 * i] = copied.primal[1].y;
    out[3 * i + 1] = copied.primal[2].x;
    out[3 * i + 2] = copied.primal[2].y;
}

kernel void nested(device const float3x2* in, device float* out, uint i [[thread_position_in_grid]]) {
    Camera cameras[3];
    for (uint n = 0; n < 3; ++n) {
        Camera camera;
        camera.projection.primal = in[3 * i + n];
        camera.view[1].y = float(n);
        cameras[(n + i) % 3] = camera;
    }
    Camera first = cameras[i];
    Camera last = cameras[(i + 2) % 3];
    Camera both;
    both.projection = last.projection;
    both.projection.differential = first.projection.primal;
    both.view = last.view;
    out[2 * i] = both.projection.primal[2].y + both.view[1].y;
    out[2 * i + 1] = both.projection.differential[2].y + both.projection.primal[0].x - 7;
}
