// A mark that a macro makes is about the statement where the macro is used, and not about those after its definition.
// launch: --threads 2 --group 1 --arg hint=zeros:u32:1 --arg out=zeros:u32:2
#include <metal_stdlib>
using namespace metal;
#define BENIGN [[anymetal::benign_race]]

kernel void stale(device uint *hint [[buffer(0)]], device uint *out [[buffer(1)]],
                  uint gid [[thread_position_in_grid]]) {
    BENIGN out[gid] = hint[0];
    hint[0] = gid + 1; //~ race-grid 12
}
