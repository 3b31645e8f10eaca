// Half of the lanes execute the shuffle and read each other's values only.
// launch: --threads 32 --group 32 --arg out=zeros:u32:32
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void lower_half(device uint *out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
    uint value = 0;
    if (lane < 16) {
        value = simd_shuffle_xor(lane, ushort(8));
    }
    out[lane] = value;
}
