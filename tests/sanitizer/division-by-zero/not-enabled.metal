// Lints are off unless enabled.
// launch: --threads 4 --group 4 --arg by=u32:1,2,0,4 --arg out=zeros:u32:4
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void divide(device const uint *by [[buffer(0)]], device uint *out [[buffer(1)]],
                   uint gid [[thread_position_in_grid]]) {
    out[gid] = 100 / by[gid];
}
