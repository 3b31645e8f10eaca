// The word at an odd byte is put together from its bytes.
// launch: --threads 4 --group 4 --arg data=zeros:u8:32 --arg out=zeros:u32:4
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void read_words(device const uchar *data [[buffer(0)]], device uint *out [[buffer(1)]],
                       uint gid [[thread_position_in_grid]]) {
    device const uchar *p = data + gid * 4 + 1;
    out[gid] = as_type<uint>(uchar4(p[0], p[1], p[2], p[3]));
}
