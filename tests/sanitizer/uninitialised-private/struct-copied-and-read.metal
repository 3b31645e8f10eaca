// The unassigned field of the copied structure is read.
// launch: --threads 4 --group 4 --arg out=zeros:u32:4
#include <metal_stdlib>
using namespace metal;

struct Pair { uint first; uint second; };
kernel void copy(device uint *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    Pair pair;
    pair.first = gid;
    Pair other = pair;
    out[gid] = other.second; //~ uninitialised-private
}
