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
    float sum = x[i]; //~ load-contiguous
    sum *= scale; //~ load-uniform
    uint at = index[i]; //~ load-contiguous
    sum += x[at]; //~ load-gather (cause: value loaded from `index`, cause_line: 14)
    sum += x[i * 1024]; //~ load-gather (cause: conversion of an integer that may wrap, cause_line: 16)
    sum += x[i % width]; //~ load-contiguous //~ load-gather (cause: integer remainder, cause_line: 17) //~ load-uniform
    sum += x[i * width]; //~ load-guarded (cause: stride that is 1 only if an argument is, cause_line: 18)
    sum += x[min(i, width)]; //~ load-guarded (cause: minimum or maximum that may clamp lanes, cause_line: 19)
    sum += x[uint(sum)]; //~ load-gather (cause: conversion from floating point, cause_line: 20)
    y[i] = sum; //~ store-contiguous
    y[at + 1] = sum; //~ store-scatter (cause: value loaded from `index`, cause_line: 14)
}
