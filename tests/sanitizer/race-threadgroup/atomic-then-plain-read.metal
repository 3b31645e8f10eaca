// A plain read of an atomic's word by another SIMD-group without a barrier.
// launch: --threads 64 --group 64 --arg out=zeros:u32:1
#include <metal_stdlib>
using namespace metal;

kernel void mixed(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup atomic_uint total;
    if (lid == 0) {
        atomic_store_explicit(&total, 3, memory_order_relaxed); //~ race-threadgroup 1
    }
    if (lid == 63) {
        out[0] = *reinterpret_cast<threadgroup uint *>(&total); //~ race-threadgroup 2
    }
}
