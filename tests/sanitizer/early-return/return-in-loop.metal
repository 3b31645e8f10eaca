// A thread returns in the second iteration; the others wait at the barrier of the third.
// launch: --threads 32 --group 32 --arg out=zeros:f32:32
#include <metal_stdlib>
using namespace metal;

kernel void loop(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    for (uint i = 0; i < 4; ++i) {
        if (i == 1 && lid == 5) {
            return;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup); //~ early-return
        out[lid] = float(i);
    }
}
