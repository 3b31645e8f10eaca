// Shuffles exchange registers: no memory, no race. Lanes whose source is past the end keep their own value.
// launch: --threads 64 --group 32 --arg out=zeros:f32:2
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void reduce(device float *out [[buffer(0)]], uint gid [[thread_position_in_grid]],
                   uint lane [[thread_index_in_simdgroup]],
                   uint group [[threadgroup_position_in_grid]]) {
    float sum = float(gid);
    for (ushort step = 16; step > 0; step /= 2) {
        sum += simd_shuffle_down(sum, step);
    }
    if (lane == 0) {
        out[group] = sum;
    }
}
