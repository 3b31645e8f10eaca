// The division is not executed where the divisor is zero.
// launch: --threads 4 --group 4 --arg by=u32:1,2,0,4 --arg out=zeros:u32:4
// options: --enable division-by-zero
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void divide(device const uint *by [[buffer(0)]], device uint *out [[buffer(1)]],
                   uint gid [[thread_position_in_grid]]) {
    uint quotient = 0;
    if (by[gid] != 0) {
        quotient = 100 / by[gid];
    }
    out[gid] = quotient;
}
