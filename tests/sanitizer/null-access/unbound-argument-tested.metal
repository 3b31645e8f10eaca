// The kernel tests whether the optional argument is bound.
// launch: --threads 4 --group 4 --arg bias=none --arg out=zeros:f32:4
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void add(device const float *bias [[buffer(0)]], device float *out [[buffer(1)]],
                uint gid [[thread_position_in_grid]]) {
    float value = float(gid);
    if (bias != nullptr) {
        value += bias[gid];
    }
    out[gid] = value;
}
