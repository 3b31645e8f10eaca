// The result is accumulated into a buffer that nothing has cleared.
// launch: --threads 32 --group 32 --arg out=zeros:f32:32
// options: --undefined out
#include <metal_stdlib>
using namespace metal;

kernel void accumulate(device float *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] += 1.0f; //~ uninitialised-device
}
