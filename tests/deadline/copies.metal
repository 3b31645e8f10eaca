// Copies of gigabytes: each kernel is ended by its deadline, or by the fault that it runs into.
#include <metal_stdlib>
using namespace metal;

struct Big { int a[1 << 28]; };

kernel void one(device Big* y, device const Big* x, constant uint& n, uint t [[thread_position_in_grid]]) {
    y[n + t] = x[n + t + 1];
}

kernel void several(device Big* y, device const Big* x, constant uint& n, uint t [[thread_position_in_grid]]) {
    for (uint i = 0; i < 100; i++) y[n + i] = x[n + i + 1];
}
