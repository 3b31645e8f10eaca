// A generator of random numbers wraps around on purpose; the remainder ends it.
// launch: --threads 32 --group 32 --arg out=zeros:u32:1024
// options: --enable index-wrap
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void scatter(device uint *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    uint state = gid * 1664525u + 1013904223u;
    out[state % 32 + gid * 32] = gid;
}
