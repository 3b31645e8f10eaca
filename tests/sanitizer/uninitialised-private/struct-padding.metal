// A structure with padding is initialised and copied to device memory: the padding is not a value.
// launch: --threads 4 --group 4 --arg out=zeros:u8:32
// expect: none
#include <metal_stdlib>
using namespace metal;

struct Item { uchar tag; uint value; };
kernel void copy(device Item *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    Item item = {uchar(1), gid};
    out[gid] = item;
}
