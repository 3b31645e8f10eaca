// A barrier of the grid orders what all threadgroups did before it; what a thread keeps stays initialised.
// launch: --threads 128 --group 32 --cooperative --arg x=zeros:f32:128 --arg y=zeros:f32:128
// expect: none
#include <metal_stdlib>
#include <anymetal_groups>
using namespace metal;

kernel void turn(device float *x [[buffer(0)]], device float *y [[buffer(1)]],
                 uint gid [[thread_position_in_grid]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[32];
    float own[2] = { float(gid), 1.0f };
    tile[lid] = own[gid & 1];
    for (uint round = 0; round < 3; ++round) {
        x[gid] = own[round & 1] + tile[lid];
        anymetal::grid_sync();
        y[gid] = x[127 - gid];
        anymetal::grid_sync();
    }
}
