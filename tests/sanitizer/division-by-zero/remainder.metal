// The remainder by zero is undefined as well.
// launch: --threads 4 --group 4 --arg out=zeros:i32:4
// options: --enable division-by-zero
#include <metal_stdlib>
using namespace metal;

kernel void remainder_of(device int *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = 7 % (int(gid) - 1); //~ division-by-zero
}
