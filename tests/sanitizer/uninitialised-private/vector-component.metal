// One component of the vector is never assigned and is read.
// launch: --threads 4 --group 4 --arg out=zeros:f32:4
#include <metal_stdlib>
using namespace metal;

kernel void component(device float *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    float2 v;
    v.x = float(gid);
    out[gid] = v.y; //~ uninitialised-private
}
