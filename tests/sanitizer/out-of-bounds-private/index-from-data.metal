// The index of a local array comes from a buffer and is not checked.
// launch: --threads 4 --group 4 --arg index=u32:0,1,2,9 --arg out=zeros:f32:4
#include <metal_stdlib>
using namespace metal;

kernel void local(device const uint *index [[buffer(0)]], device float *out [[buffer(1)]],
                  uint gid [[thread_position_in_grid]]) {
    float values[4] = {1.0f, 2.0f, 3.0f, 4.0f};
    out[gid] = values[index[gid]]; //~ out-of-bounds-private
}
