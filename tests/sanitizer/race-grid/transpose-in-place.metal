// Threadgroups of one thread each transpose in place: the mirrored element is read after its owner wrote it.
// launch: --threads 2,2 --group 1,1 --arg data=iota:f32:4
#include <metal_stdlib>
using namespace metal;

kernel void transpose(device float *data [[buffer(0)]], uint2 gid [[thread_position_in_grid]]) {
    float mirrored = data[gid.x * 2 + gid.y]; //~ race-grid 2
    data[gid.y * 2 + gid.x] = mirrored; //~ race-grid 1
}
