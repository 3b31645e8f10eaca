// Threads past the end return; the kernel has no barrier.
// launch: --threads 64 --group 64 --arg out=zeros:f32:50 --arg n=u32:50
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void guarded(device float *out [[buffer(0)]], constant uint &n [[buffer(1)]],
                    uint gid [[thread_position_in_grid]]) {
    if (gid >= n) {
        return;
    }
    out[gid] = 1.0f;
}
