// Two pointers into one buffer whose ranges do not overlap.
// launch: --threads 64 --group 64 --arg data=zeros:f32:128
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void apart(device float *data [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    device float *upper = data + 64;
    upper[lid] = float(lid);
    data[lid] = 1.0f;
}
