// An inclusive scan by simd_shuffle_up: registers only.
// launch: --threads 32 --group 32 --arg out=zeros:u32:32
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void scan(device uint *out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
    uint sum = lane;
    for (ushort step = 1; step < 32; step *= 2) {
        uint before = simd_shuffle_up(sum, step);
        sum += lane >= step ? before : 0;
    }
    out[lane] = sum;
}
