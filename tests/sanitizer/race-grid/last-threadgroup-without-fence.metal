// The last threadgroup to count up reads all partial sums, which nothing has ordered.
// launch: --threads 128 --group 32 --arg done=zeros:u32:1 --arg partial=zeros:f32:4 --arg out=zeros:f32:1
#include <metal_stdlib>
using namespace metal;

kernel void reduce(device atomic_uint *done [[buffer(0)]], device float *partial [[buffer(1)]],
                   device float *out [[buffer(2)]], uint gid [[thread_position_in_grid]],
                   uint lid [[thread_position_in_threadgroup]],
                   uint group [[threadgroup_position_in_grid]],
                   uint groups [[threadgroups_per_grid]]) {
    float sum = simd_sum(float(gid));
    if (lid == 0) {
        partial[group] = sum; //~ race-grid 1
        if (atomic_fetch_add_explicit(done, 1, memory_order_relaxed) == groups - 1) {
            float total = 0.0f;
            for (uint i = 0; i < groups; ++i) {
                total += partial[i]; //~ race-grid 2
            }
            out[0] = total;
        }
    }
}
