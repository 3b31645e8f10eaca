// A signed index is -1 for the first thread.
// launch: --threads 32 --group 32 --arg data=iota:f32:32 --arg out=zeros:f32:32
#include <metal_stdlib>
using namespace metal;

kernel void difference(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                       uint gid [[thread_position_in_grid]]) {
    int before = int(gid) - 1;
    out[gid] = data[before]; //~ out-of-bounds
}
