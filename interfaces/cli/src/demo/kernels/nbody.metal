// Accelerations of bodies under gravity, all pairs; position in xyz, mass in w.
#include <metal_stdlib>
using namespace metal;

kernel void nbody(device const float4* bodies [[buffer(0)]],
                  device float4* accelerations [[buffer(1)]],
                  constant uint& n [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) {
    if (i >= n) {
        return;
    }
    float3 here = bodies[i].xyz;
    float3 sum = float3(0);
    for (uint j = 0; j < n; j++) {
        float4 other = bodies[j];
        float3 d = other.xyz - here;
        float inverse = rsqrt(dot(d, d) + 0.01f);
        sum += d * (other.w * inverse * inverse * inverse);
    }
    accelerations[i] = float4(sum, 0);
}
