// Thread 32 is alone in its quad: lane 1, whose value the fill does not replace, does not exist.
// launch: --threads 33 --group 33 --arg y=zeros:f32:33
#include <metal_stdlib>
using namespace metal;

kernel void fill(device float *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    y[i] = quad_shuffle_and_fill_down(y[i], 1.0f, 1); //~ inactive-lane
}
