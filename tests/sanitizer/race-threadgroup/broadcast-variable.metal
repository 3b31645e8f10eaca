// One thread writes a threadgroup variable, the other SIMD-group reads it before any barrier.
// launch: --threads 64 --group 64 --arg out=zeros:u32:64
#include <metal_stdlib>
using namespace metal;

kernel void broadcast(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]],
                      uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup uint shared_value;
    if (lid == 0) {
        shared_value = 7; //~ race-threadgroup 1
    }
    if (simdgroup == 1) {
        out[lid] = shared_value; //~ race-threadgroup 2
    }
}
