// A naive transpose in place: elements are read while the threads that own them write, in all SIMD-groups.
// launch: --threads 8,8 --group 8,8 --arg data=iota:f32:64
#include <metal_stdlib>
using namespace metal;

kernel void transpose(device float *data [[buffer(0)]],
                      uint2 lid [[thread_position_in_threadgroup]]) {
    float mirrored = data[lid.x * 8 + lid.y]; //~ race-simdgroup 1 //~ race-threadgroup 2
    data[lid.y * 8 + lid.x] = mirrored; //~ race-simdgroup 2 //~ race-threadgroup 1
}
