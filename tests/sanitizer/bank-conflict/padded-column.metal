// With 33 words a row the lanes of a column are in different banks.
// launch: --threads 32 --group 32 --arg out=zeros:f32:32
// options: --enable bank-conflict
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void column(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[32][33];
    for (uint row = 0; row < 32; ++row) {
        tile[row][lid] = float(row);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = tile[lid][3];
}
