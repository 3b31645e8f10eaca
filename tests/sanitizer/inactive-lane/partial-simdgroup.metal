// The last SIMD-group has 8 threads: they take values of lanes 8 to 15, which do not exist.
// launch: --threads 40 --group 40 --arg out=zeros:u32:40
#include <metal_stdlib>
using namespace metal;

kernel void tree(device uint *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    uint sum = gid;
    sum += simd_shuffle_down(sum, ushort(8)); //~ inactive-lane
    out[gid] = sum;
}
