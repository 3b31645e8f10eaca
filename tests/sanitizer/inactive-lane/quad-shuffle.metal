// A quad function reads a lane of the quad that does not take part.
// launch: --threads 32 --group 32 --arg out=zeros:u32:32
#include <metal_stdlib>
using namespace metal;

kernel void quad(device uint *out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
    uint value = 0;
    if (lane % 4 != 3) {
        value = quad_shuffle(lane, ushort(3)); //~ inactive-lane
    }
    out[lane] = value;
}
