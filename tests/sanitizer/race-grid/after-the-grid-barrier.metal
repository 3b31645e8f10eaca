// A barrier of the grid orders nothing that two threads do after it.
// launch: --threads 64 --group 32 --cooperative --arg x=zeros:f32:64 --arg y=zeros:f32:64
#include <metal_stdlib>
#include <anymetal_groups>
using namespace metal;

kernel void late(device float *x [[buffer(0)]], device float *y [[buffer(1)]],
                 uint gid [[thread_position_in_grid]]) {
    x[gid] = 1.0f;
    anymetal::grid_sync();
    x[gid] = 2.0f; //~ race-grid 2
    y[gid] = x[63 - gid]; //~ race-grid 1
}
