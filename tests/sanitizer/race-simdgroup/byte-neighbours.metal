// Bytes of one word are different memory locations: neighbours do not race.
// launch: --threads 32 --group 32 --arg out=zeros:u8:32
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void bytes(device uchar *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = uchar(gid);
    out[gid] = uchar(out[gid] + 1);
}
