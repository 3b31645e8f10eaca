// Rows of eight float4: lanes of a column need the same banks.
// launch: --threads 32 --group 32 --arg out=zeros:f32:128
// options: --enable bank-conflict
#include <metal_stdlib>
using namespace metal;

kernel void column(device float4 *out [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup float4 tile[32 * 8];
    for (uint row = 0; row < 8; ++row) {
        tile[row * 32 + i] = float4(float(row));
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = tile[i * 8]; //~ bank-conflict
}
