// Nothing is bound to the argument that the kernel writes.
// launch: --threads 4 --group 4 --arg out=none
#include <metal_stdlib>
using namespace metal;

kernel void fill(device float *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = 1.0f; //~ null-access
}
