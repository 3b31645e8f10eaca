// A lane writes a half of a word that the other lane reads as a whole.
// launch: --threads 32 --group 32 --arg out=zeros:u32:32
#include <metal_stdlib>
using namespace metal;

kernel void halves(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup ushort tile[32];
    threadgroup uint *words = reinterpret_cast<threadgroup uint *>(tile);
    tile[lid] = ushort(lid); //~ race-simdgroup 1
    if (lid < 16) {
        out[lid] = words[lid]; //~ race-simdgroup 2
    }
}
