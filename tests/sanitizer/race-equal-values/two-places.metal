// Two places write the same value from two SIMD-groups.
// launch: --threads 64 --group 64 --arg out=zeros:u32:1
#include <metal_stdlib>
using namespace metal;

kernel void done(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    if (lid == 0) {
        out[0] = 9; //~ race-equal-values 1
    }
    if (lid == 40) {
        out[0] = 9; //~ race-equal-values 2
    }
}
