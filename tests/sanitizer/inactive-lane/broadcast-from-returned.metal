// Lane 0 has returned; the broadcast reads its value.
// launch: --threads 32 --group 32 --arg out=zeros:u32:32
#include <metal_stdlib>
using namespace metal;

kernel void broadcast(device uint *out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
    if (lane == 0) {
        return;
    }
    out[lane] = simd_broadcast(lane, ushort(0)); //~ inactive-lane
}
