// Even lanes read the value of odd lanes, which do not execute the shuffle.
// launch: --threads 32 --group 32 --arg out=zeros:u32:32
#include <metal_stdlib>
using namespace metal;

kernel void exchange(device uint *out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
    uint value = 0;
    if (lane % 2 == 0) {
        value = simd_shuffle(lane, ushort(lane + 1)); //~ inactive-lane
    }
    out[lane] = value;
}
