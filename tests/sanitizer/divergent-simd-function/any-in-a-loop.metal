// Lanes leave the loop one after the other; the vote is of those that remain.
// launch: --threads 32 --group 32 --arg out=zeros:u32:32
// options: --enable divergent-simd-function
#include <metal_stdlib>
using namespace metal;

kernel void loop(device uint *out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
    uint steps = 0;
    while (steps < lane) {
        if (simd_all(steps > 40)) { //~ divergent-simd-function
            break;
        }
        steps += 1;
    }
    out[lane] = steps;
}
