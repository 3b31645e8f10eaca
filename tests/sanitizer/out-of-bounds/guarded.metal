// The last threads are guarded by the element count.
// launch: --threads 64 --group 32 --arg out=zeros:f32:33 --arg n=u32:33
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void fill(device float *out [[buffer(0)]], constant uint &n [[buffer(1)]],
                 uint gid [[thread_position_in_grid]]) {
    if (gid < n) {
        out[gid] = 1.0f;
    }
}
