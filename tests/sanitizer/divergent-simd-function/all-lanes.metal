// All lanes execute the function; those past the end give the neutral value.
// launch: --threads 32 --group 32 --arg out=zeros:u32:32 --arg n=u32:20
// options: --enable divergent-simd-function
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void neutral(device uint *out [[buffer(0)]], constant uint &n [[buffer(1)]],
                    uint gid [[thread_position_in_grid]]) {
    out[gid] = simd_max(gid < n ? gid : 0u);
}
