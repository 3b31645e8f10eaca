// The scratch buffer has undefined contents and is read before it is written.
// launch: --threads 32 --group 32 --arg scratch=zeros:f32:32 --arg out=zeros:f32:32
// options: --undefined scratch
#include <metal_stdlib>
using namespace metal;

kernel void read_first(device float *scratch [[buffer(0)]], device float *out [[buffer(1)]],
                       uint gid [[thread_position_in_grid]]) {
    out[gid] = scratch[gid]; //~ uninitialised-device
    scratch[gid] = 1.0f;
}
