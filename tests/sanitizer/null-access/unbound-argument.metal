// Nothing is bound to the argument that the kernel reads.
// launch: --threads 4 --group 4 --arg data=none --arg out=zeros:f32:4
#include <metal_stdlib>
using namespace metal;

kernel void copy(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                 uint gid [[thread_position_in_grid]]) {
    out[gid] = data[gid]; //~ null-access
}
