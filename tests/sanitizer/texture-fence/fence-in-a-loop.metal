// Each iteration ends with a fence.
// launch: --threads 32 --group 32 --arg t=texture:r32uint:32x1 --arg out=zeros:u32:32
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void add(texture2d<uint, access::read_write> t [[texture(0)]], device uint *out [[buffer(0)]],
                uint i [[thread_position_in_grid]]) {
    uint last = 0;
    for (uint n = 0; n < 2; ++n) {
        last = t.read(uint2(i, 0)).x;
        t.write(uint4(last + 1), uint2(i, 0));
        t.fence();
    }
    out[i] = last;
}
