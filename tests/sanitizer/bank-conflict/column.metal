// Lanes read a column of a tile with 32 words a row: all in one bank.
// launch: --threads 32 --group 32 --arg out=zeros:f32:32
// options: --enable bank-conflict
#include <metal_stdlib>
using namespace metal;

kernel void column(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[32 * 32];
    for (uint row = 0; row < 32; ++row) {
        tile[row * 32 + lid] = float(row);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = tile[lid * 32 + 3]; //~ bank-conflict
}
