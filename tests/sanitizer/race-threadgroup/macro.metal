// The racy store is in a macro's body, used at two places: the place is the use, as in diagnostics.
// launch: --threads 64 --group 64 --arg out=zeros:f32:64
#include <metal_stdlib>
using namespace metal;

#define STORE(array, index, value) array[index] = (value)
kernel void shift(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[64];
    threadgroup float other[64];
    STORE(tile, lid, float(lid)); //~ race-threadgroup a1
    STORE(other, lid, float(lid)); //~ race-threadgroup b1
    if (lid >= 32) {
        float left = tile[lid - 32]; //~ race-threadgroup a2
        float right = other[lid - 32]; //~ race-threadgroup b2
        out[lid] = left + right;
    }
}
