// An argument that a function constant switches off is unbound and untouched.
// launch: --threads 4 --group 4 --constant has_bias=bool:false --arg bias=none --arg out=zeros:f32:4
// expect: none
#include <metal_stdlib>
using namespace metal;

constant bool has_bias [[function_constant(0)]];
kernel void add(device const float *bias [[buffer(0)]], device float *out [[buffer(1)]],
                uint gid [[thread_position_in_grid]]) {
    float value = float(gid);
    if (has_bias) {
        value += bias[gid];
    }
    out[gid] = value;
}
