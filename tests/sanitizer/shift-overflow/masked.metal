// The distance is masked to 31.
// launch: --threads 64 --group 64 --arg out=zeros:u32:64
// options: --enable shift-overflow
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void mask(device uint *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = 1u << (gid & 31);
}
