// The two sides of a divergent branch are not ordered: one half writes, the other half reads.
// launch: --threads 32 --group 32 --arg out=zeros:u32:32
#include <metal_stdlib>
using namespace metal;

kernel void halves(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup uint tile[16];
    if (lid < 16) {
        tile[lid] = lid; //~ race-simdgroup 1
    } else {
        out[lid] = tile[lid - 16]; //~ race-simdgroup 2
    }
}
