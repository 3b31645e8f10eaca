// The structures that kernels store tessellation factors in.
//! kernel: factors
//! arg 0: f16 0*6
//! arg 1: f16 0*4
//! expect 0: f16 1 2 3 4 5 6
//! expect 1: f16 1 2 3 4

#include <metal_stdlib>
using namespace metal;

kernel void factors(device MTLQuadTessellationFactorsHalf& quad, device MTLTriangleTessellationFactorsHalf* triangle) {
    for (int n = 0; n < 4; ++n) quad.edgeTessellationFactor[n] = half(n + 1);
    quad.insideTessellationFactor[0] = 5;
    quad.insideTessellationFactor[1] = 6;
    triangle[0] = {{1, 2, 3}, 4};
}
