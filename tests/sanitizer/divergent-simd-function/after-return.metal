// Lanes past the end have returned before the maximum is taken.
// launch: --threads 32 --group 32 --arg out=zeros:u32:32 --arg n=u32:20
// options: --enable divergent-simd-function
#include <metal_stdlib>
using namespace metal;

kernel void guarded(device uint *out [[buffer(0)]], constant uint &n [[buffer(1)]],
                    uint gid [[thread_position_in_grid]]) {
    if (gid >= n) {
        return;
    }
    out[gid] = simd_max(gid); //~ divergent-simd-function
}
