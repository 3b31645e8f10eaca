// Two pointers into one buffer: the second is an offset of the first.
// launch: --threads 64 --group 64 --arg data=zeros:f32:96
#include <metal_stdlib>
using namespace metal;

kernel void alias(device float *data [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    device float *upper = data + 32;
    if (lid < 32) {
        upper[lid] = float(lid); //~ race-threadgroup 1
    } else {
        data[lid] += 1.0f; //~ race-threadgroup 2
    }
}
