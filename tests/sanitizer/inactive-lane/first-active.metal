// simd_broadcast_first reads the first active lane.
// launch: --threads 32 --group 32 --arg out=zeros:u32:32
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void first(device uint *out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
    uint value = 0;
    if (lane > 4) {
        value = simd_broadcast_first(lane);
    }
    out[lane] = value;
}
