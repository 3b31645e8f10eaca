// The strategy of each access, and why it is not a vector access.
// group: 64
#include <metal_stdlib>
using namespace metal;

kernel void accesses(device const float* x [[buffer(0)]],
                     device const uint* index [[buffer(1)]],
                     constant float& scale [[buffer(2)]],
                     constant uint& width [[buffer(3)]],
                     device float* y [[buffer(4)]],
                     uint i [[thread_position_in_grid]]) {
    float sum = x[i];
    sum *= scale;
    uint at = index[i];
    sum += x[at];
    sum += x[i * 1024];
    sum += x[i % width];
    sum += x[uint(sum)];
    y[i] = sum;
    y[at + 1] = sum;
}
