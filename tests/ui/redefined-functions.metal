#include <metal_stdlib>
using namespace metal;

int helper(device int* x) { return x[0]; }
int helper(constant int* x) { return x[0]; }
int helper(device int* y) { return y[1]; } //~ redefinition

kernel void k(device int* x [[buffer(0)]]) { x[0] = 1; }
kernel void k(device int* x [[buffer(0)]]) { x[0] = 2; } //~ redefinition
