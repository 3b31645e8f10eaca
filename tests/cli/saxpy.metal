// y = a x + y, and its neighbours for the tests of the command line.
#include <metal_stdlib>
using namespace metal;

kernel void saxpy(device const float* x [[buffer(0)]],
                  device float* y       [[buffer(1)]],
                  constant float& a     [[buffer(2)]],
                  uint i                [[thread_position_in_grid]])
{
    y[i] += a * x[i];
}

kernel void doubled(device const int* in [[buffer(0)]], device int* out [[buffer(1)]],
                    uint i [[thread_position_in_grid]])
{
    out[i] = 2 * in[i];
}
