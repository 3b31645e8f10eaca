// Each thread reads two elements; the buffer has one for each thread.
// launch: --threads 16 --group 16 --arg data=zeros:f32:16 --arg out=zeros:f32:16
#include <metal_stdlib>
using namespace metal;

kernel void pairs(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                  uint gid [[thread_position_in_grid]]) {
    out[gid] = data[2 * gid]; //~ out-of-bounds
}
