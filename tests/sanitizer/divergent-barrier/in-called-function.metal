// The barrier is in a function that only some threads call.
// launch: --threads 32 --group 32 --arg out=zeros:u32:32
#include <metal_stdlib>
using namespace metal;

void wait_here() {
    threadgroup_barrier(mem_flags::mem_threadgroup); //~ divergent-barrier
}
kernel void calls(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    if (lid > 7) {
        wait_here();
    }
    out[lid] = lid;
}
