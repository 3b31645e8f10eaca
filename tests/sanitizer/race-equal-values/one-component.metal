// All threads write the same value to one component.
// launch: --threads 32 --group 32 --arg out=zeros:f32:32
#include <metal_stdlib>
using namespace metal;

kernel void components(device float4 *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    out[0].y = 3; //~ race-equal-values 12
}
