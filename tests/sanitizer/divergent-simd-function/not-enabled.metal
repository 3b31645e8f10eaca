// Functions of the active lanes are defined under divergence: silence without the lint.
// launch: --threads 32 --group 32 --arg out=zeros:u32:32 --arg n=u32:20
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void guarded(device uint *out [[buffer(0)]], constant uint &n [[buffer(1)]],
                    uint gid [[thread_position_in_grid]]) {
    if (gid < n) {
        out[gid] = simd_prefix_inclusive_sum(gid);
    }
}
