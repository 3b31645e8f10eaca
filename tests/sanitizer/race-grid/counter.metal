// A counter of the whole grid without an atomic: each threadgroup reads and writes it.
// launch: --threads 64 --group 32 --arg count=zeros:u32:1
#include <metal_stdlib>
using namespace metal;

kernel void count_up(device uint *count [[buffer(0)]],
                     uint lid [[thread_position_in_threadgroup]]) {
    if (lid == 0) {
        count[0] += 1; //~ race-grid 12
    }
}
