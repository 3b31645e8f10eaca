// All lanes of every quad that executes the function take part.
// launch: --threads 32 --group 32 --arg out=zeros:u32:32
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void quad(device uint *out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
    uint value = 0;
    if (lane < 8) {
        value = quad_shuffle_xor(lane, ushort(1)) + quad_broadcast(lane, ushort(3));
    }
    out[lane] = value;
}
