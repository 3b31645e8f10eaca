// A mark allows the kinds that it names and no others.
// launch: --threads 2 --group 1 --arg hint=zeros:u32:1
#include <metal_stdlib>
using namespace metal;

kernel void last(device uint *hint [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    // anymetal: allow(out-of-bounds, race-simdgroup)
    hint[0] = gid + 1; //~ race-grid 12
}
