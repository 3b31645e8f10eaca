// All lanes write different values to one element.
// launch: --threads 32 --group 32 --arg out=zeros:u32:1
#include <metal_stdlib>
using namespace metal;

kernel void last(device uint *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[0] = gid; //~ race-simdgroup 12
}
