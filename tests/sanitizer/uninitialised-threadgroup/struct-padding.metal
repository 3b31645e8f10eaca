// A structure with padding is written field by field and copied as a whole: padding is not a value.
// launch: --threads 32 --group 32 --arg out=zeros:u32:32
// expect: none
#include <metal_stdlib>
using namespace metal;

struct Item { uchar tag; uint value; };
kernel void copy(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup Item items[32];
    items[lid].tag = 1;
    items[lid].value = lid;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    Item item = items[31 - lid];
    out[lid] = item.value + item.tag;
}
