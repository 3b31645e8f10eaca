// One thread writes both halves of a word in turn, one of another threadgroup the lower half: the later write of the upper half
// does not hide the earlier one.
// launch: --threads 128 --group 64 --arg words=zeros:u16:2
#include <metal_stdlib>
using namespace metal;

kernel void halves(device ushort *words [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    if (gid % 64 == 0) {
        words[0] = ushort(gid + 1); //~ race-grid 12
        if (gid < 64) {
            words[1] = ushort(gid + 1);
        }
    }
}
