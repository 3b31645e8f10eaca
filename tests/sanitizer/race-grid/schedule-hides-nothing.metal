// In the plain order threadgroup 0 is first and the result looks right; it is a race in every order.
// launch: --threads 2 --group 1 --arg data=zeros:u32:1 --arg out=zeros:u32:1
// options: --schedules 4 --seed 1
#include <metal_stdlib>
using namespace metal;

kernel void order(device uint *data [[buffer(0)]], device uint *out [[buffer(1)]],
                  uint gid [[thread_position_in_grid]]) {
    if (gid == 0) {
        data[0] = 1; //~ race-grid 1
    } else {
        out[0] = data[0]; //~ race-grid 2
    }
}
