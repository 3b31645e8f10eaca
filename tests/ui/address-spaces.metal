// Pointers keep their address space.
#include <metal_stdlib>
using namespace metal;

void fill(device float* x) { x[0] = 0; }

kernel void wrong_space(constant float* c [[buffer(0)]], device float* d [[buffer(1)]])
{
    fill(d);
    fill(c); //~ no-matching-function
}

kernel void constant_store(constant float* c [[buffer(0)]])
{
    c[0] = 1.0f; //~ not-assignable: constant memory cannot be written to
}
