// The index is inside of the structure and inside of its array.
// launch: --threads 4 --group 4 --arg out=zeros:f32:4
// expect: none
#include <metal_stdlib>
using namespace metal;

struct Row { float head; float values[4]; };
kernel void local(device float *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    Row row = {0.5f, {1.0f, 2.0f, 3.0f, 4.0f}};
    out[gid] = row.values[gid] + row.head;
}
