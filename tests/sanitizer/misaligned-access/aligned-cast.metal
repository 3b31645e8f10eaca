// The bytes are read as words at multiples of four.
// launch: --threads 4 --group 4 --arg data=zeros:u8:16 --arg out=zeros:u32:4
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void read_words(device const uchar *data [[buffer(0)]], device uint *out [[buffer(1)]],
                       uint gid [[thread_position_in_grid]]) {
    out[gid] = *reinterpret_cast<device const uint *>(data + gid * 4);
}
