// Threadgroups write different bytes of one word: different memory locations.
// launch: --threads 4 --group 1 --arg out=zeros:u8:4
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void bytes(device uchar *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = uchar(gid + 1);
}
