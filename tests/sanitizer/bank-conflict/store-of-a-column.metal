// The store of a column of a tile with 32 words a row.
// launch: --threads 32 --group 32 --arg out=zeros:f32:32
// options: --enable bank-conflict
#include <metal_stdlib>
using namespace metal;

kernel void column(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[32][32];
    for (uint column = 0; column < 32; ++column) {
        tile[lid][column] = float(column); //~ bank-conflict
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = tile[5][lid];
}
