// The quotient of floats by zero is infinity: this lint is of integers.
// launch: --threads 4 --group 4 --arg out=zeros:f32:4
// options: --enable division-by-zero
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void divide(device float *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = 1.0f / float(gid);
}
