// Messages of kernels.
#include <metal_stdlib>
#include <metal_logging>
using namespace metal;

constant os_log own("tests", "cli");

kernel void notes(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (i % 4 == 1) own.log_error("x[%u] is %.1f", i, x[i]);
}

kernel void breaks(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (i == 5) os_log_default.log_fault("x[%u] is %g", i, x[i]);
}
