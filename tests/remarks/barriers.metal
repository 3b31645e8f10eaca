// A loop around a barrier, and a private array with an index of data.
// group: 64
#include <metal_stdlib>
using namespace metal;

kernel void barriers(device const uint* x [[buffer(0)]],
                     constant uint& tiles [[buffer(1)]],
                     device uint* y [[buffer(2)]],
                     uint i [[thread_position_in_threadgroup]]) {
    threadgroup uint tile[64];
    uint counts[16] = {};
    for (uint t = 0; t < tiles; t++) { //~ loop-not-unrolled (reason: the trip count is not constant) //~ loop-threadgroup //~ load-uniform
        tile[i] = x[t * 64 + i]; //~ store-contiguous //~ load-contiguous
        threadgroup_barrier(mem_flags::mem_threadgroup);
        counts[tile[63 - i] % 16] += 1; //~ store-private (cause: value loaded from `tile`, cause_line: 15, index: varying) //~ load-strided //~ load-private (cause: value loaded from `tile`, cause_line: 15, index: varying)
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    y[i] = counts[x[i] % 16]; //~ store-contiguous //~ load-private (cause: value loaded from `x`, cause_line: 18, index: varying) //~ load-contiguous
}
