// The shifted value has 64 bits.
// launch: --threads 64 --group 64 --arg out=zeros:u64:64
// options: --enable shift-overflow
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void mask(device ulong *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = 1ul << gid;
}
