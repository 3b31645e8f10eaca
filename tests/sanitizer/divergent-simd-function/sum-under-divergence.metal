// The sum is of the even lanes only; the author may have meant all.
// launch: --threads 32 --group 32 --arg out=zeros:u32:32
// options: --enable divergent-simd-function
#include <metal_stdlib>
using namespace metal;

kernel void sum_of_even(device uint *out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
    uint value = 0;
    if (lane % 2 == 0) {
        value = simd_sum(lane); //~ divergent-simd-function
    }
    out[lane] = value;
}
