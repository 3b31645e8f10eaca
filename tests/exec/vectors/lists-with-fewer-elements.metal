// A list in braces gives a vector's first elements; those that are left are zero, as in C++. One value
// alone is spread over the vector.
//! covers: MSL 2.2.2
//! kernel: lists
//! arg 0: u32 5 9
//! arg 1: u32 0xffffffff*20
//! expect 1: u32 5 9 12 0 5 9 0 0 7 5 9 0 1 2 0 0 9 9 9 9

#include <metal_stdlib>
using namespace metal;

struct Holder { uint4 value; };

static uint4 same(uint4 value) { return value; }

kernel void lists(constant uint2& key [[buffer(0)]], device uint4* out [[buffer(1)]]) {
    uint4 three = {key.x, key.y, key.x ^ key.y};
    out[0] = three;
    out[1] = uint4{key.x, key.y};
    Holder holder = {{7u, key}};
    out[2] = holder.value;
    constexpr uint4 constant_list = {1, 2};
    out[3] = same(constant_list);
    out[4] = uint4(key.y);
}
