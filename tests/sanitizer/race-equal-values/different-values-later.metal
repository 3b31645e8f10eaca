// The two threadgroups write different values: that is an ordinary race.
// launch: --threads 2 --group 1 --arg out=zeros:u32:1
#include <metal_stdlib>
using namespace metal;

kernel void store(device uint *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[0] = gid; //~ race-grid 12
}
