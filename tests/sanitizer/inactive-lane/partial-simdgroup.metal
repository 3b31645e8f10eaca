// The last SIMD-group has 8 threads: the tree takes values of lanes that do not exist, and its result is lane 0's. Real reductions do so.
// launch: --threads 40 --group 40 --arg out=zeros:u32:40
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void tree(device uint *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    uint sum = gid;
    sum += simd_shuffle_down(sum, ushort(8));
    out[gid] = sum;
}
