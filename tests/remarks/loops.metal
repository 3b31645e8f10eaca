// The form of each loop and branch.
// group: 64
#include <metal_stdlib>
using namespace metal;

kernel void loops(device const float* x [[buffer(0)]],
                  constant uint& count [[buffer(1)]],
                  device float* y [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint k = 0; k < count; k++) {
        sum += x[k];
    }
    for (uint k = 0; k < 4; k++) {
        sum *= x[k + 8];
    }
    for (uint k = i; k < count; k += 64) {
        sum += x[k];
    }
    while (sum < y[i]) {
        sum = sum * 2 + 1;
    }
    if (sum > 10) {
        y[i] = sum;
    }
    y[i + 64] = sum;
}
