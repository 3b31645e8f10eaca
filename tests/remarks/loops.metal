// The form of each loop and branch.
// group: 64
#include <metal_stdlib>
using namespace metal;

kernel void loops(device const float* x [[buffer(0)]],
                  constant uint& count [[buffer(1)]],
                  device float* y [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint k = 0; k < count; k++) { //~ loop-not-unrolled (reason: the trip count is not constant) //~ loop-uniform //~ load-uniform
        sum += x[k]; //~ load-uniform
    }
    for (uint k = 0; k < 4; k++) { //~ loop-unrolled (trips: 4)
        sum *= x[k + 8]; //~ load-uniform
    }
    for (uint k = i; k < count; k += 64) { //~ loop-not-unrolled (reason: the trip count is not constant) //~ loop-masked (cause: comparison of thread positions, cause_line: 17, unmasked_copy: yes) //~ branch-divergent (cause: comparison of thread positions, cause_line: 17)
        sum += x[k]; //~ load-contiguous
    }
    while (sum < y[i]) { //~ loop-not-unrolled (reason: the trip count is not constant) //~ loop-masked (cause: variable `sum`, cause_line: 20, unmasked_copy: no) //~ branch-divergent (cause: variable `sum`, cause_line: 20) //~ load-contiguous
        sum = sum * 2 + 1;
    }
    if (sum > 10) { //~ branch-divergent (cause: variable `sum`, cause_line: 23)
        y[i] = sum; //~ store-contiguous
    }
    y[i + 64] = sum; //~ store-contiguous
}
