// An output with undefined contents that is only written.
// launch: --threads 32 --group 32 --arg out=zeros:u32:32
// options: --undefined out
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void fill(device uint *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = gid;
}
