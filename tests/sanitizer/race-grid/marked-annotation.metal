// Annotations in clang's form and in GCC's, with a reason.
// launch: --threads 2 --group 1 --arg hint=zeros:u32:1 --arg out=zeros:u32:2
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void stale(device uint *hint [[buffer(0)]], device uint *out [[buffer(1)]],
                  uint gid [[thread_position_in_grid]]) {
    [[clang::annotate("anymetal: benign race: it may be stale")]] out[gid] = hint[0];
    __attribute__((annotate("anymetal: allow(race-grid)"))) hint[0] = gid + 1;
}
