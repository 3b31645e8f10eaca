// The buffer holds half values and the kernel reads float: the upper half of the threads is outside.
// launch: --threads 16 --group 16 --arg data=zeros:f16:16 --arg out=zeros:f32:16
#include <metal_stdlib>
using namespace metal;

kernel void widen(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                  uint gid [[thread_position_in_grid]]) {
    out[gid] = data[gid]; //~ out-of-bounds
}
