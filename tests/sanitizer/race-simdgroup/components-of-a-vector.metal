// A vector is one object (MSL 2.2.1): threads that write its components race.
// launch: --threads 32 --group 32 --arg out=zeros:f32:32
#include <metal_stdlib>
using namespace metal;

kernel void components(device float4 *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    out[i / 4][i % 4] = float(i); //~ race-simdgroup 12
}
