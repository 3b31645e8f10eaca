// The index of the constant table is masked to its four elements.
// launch: --threads 8 --group 8 --arg table=f32:1,2,3,4 --arg out=zeros:f32:8
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void look_up(constant float *table [[buffer(0)]], device float *out [[buffer(1)]],
                    uint gid [[thread_position_in_grid]]) {
    out[gid] = table[gid & 3];
}
