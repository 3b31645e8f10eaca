// The variable is written again while the first SIMD-group may still read its first value.
// launch: --threads 64 --group 64 --arg out=zeros:u32:64
#include <metal_stdlib>
using namespace metal;

kernel void broadcast(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]],
                      uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup uint shared_value;
    if (lid == 0) {
        shared_value = 7;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simdgroup == 0) {
        out[lid] = shared_value; //~ race-threadgroup 1
    }
    if (lid == 63) {
        shared_value = 8; //~ race-threadgroup 2
    }
}
