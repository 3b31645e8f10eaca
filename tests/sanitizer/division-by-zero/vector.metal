// One component of the divisor is zero.
// launch: --threads 1 --group 1 --arg by=u32:1,2,3,0 --arg out=zeros:u32:4
// options: --enable division-by-zero
#include <metal_stdlib>
using namespace metal;

kernel void divide(device const uint4 *by [[buffer(0)]], device uint4 *out [[buffer(1)]],
                   uint gid [[thread_position_in_grid]]) {
    out[gid] = uint4(100) / by[gid]; //~ division-by-zero
}
