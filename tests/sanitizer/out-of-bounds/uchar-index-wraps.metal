// A loop over 300 elements with a uchar index wraps at 256: in bounds, each access is inside.
// launch: --threads 1 --group 1 --arg data=zeros:f32:256 --arg out=zeros:f32:1
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void sum_up(device const float *data [[buffer(0)]], device float *out [[buffer(1)]]) {
    uchar index = 0;
    float sum = 0.0f;
    for (uint step = 0; step < 300; ++step) {
        sum += data[index];
        index = uchar(index + 1);
    }
    out[0] = sum;
}
