// A copy of the whole structure reads both fields that the other SIMD-group wrote.
// launch: --threads 64 --group 64 --arg out=zeros:u32:64
#include <metal_stdlib>
using namespace metal;

struct Pair { uint first; uint second; };
kernel void fields(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup Pair pair;
    if (lid == 0) {
        pair.first = 1; //~ race-threadgroup a1
        pair.second = 2; //~ race-threadgroup b1
    }
    if (lid == 32) {
        Pair copy = pair; //~ race-threadgroup a2 //~ race-threadgroup b2
        out[lid] = copy.first + copy.second;
    }
}
