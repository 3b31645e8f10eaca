// Different fields of one structure are different memory locations.
// launch: --threads 64 --group 64 --arg out=zeros:u32:64
// expect: none
#include <metal_stdlib>
using namespace metal;

struct Pair { uint first; uint second; };
kernel void fields(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup Pair pair;
    if (lid == 0) {
        pair.first = 1;
    }
    if (lid == 32) {
        pair.second = 2;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = pair.first + pair.second;
}
