#include <metal_stdlib>
using namespace metal;

kernel void multiply(device const half* a, device const half* b, device half* c)
{
    simdgroup_half8x8 x, y, z = simdgroup_half8x8(0.0h);
    simdgroup_load(x, a);
    simdgroup_load(y, b);
    simdgroup_multiply_accumulate(z, x, y, z);
    simdgroup_store(z, c);
}
