// simd_sum works on the active lanes: defined under divergence.
// launch: --threads 32 --group 32 --arg out=zeros:u32:32
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void sum_of_even(device uint *out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
    uint value = 0;
    if (lane % 2 == 0) {
        value = simd_sum(lane);
    }
    out[lane] = value;
}
