// The race is in a function template that is called with two types; both calls have it at the same places.
// launch: --threads 64 --group 64 --arg out=zeros:f32:64
#include <metal_stdlib>
using namespace metal;

template <typename T>
T shifted(threadgroup T *tile, T value, uint lid) {
    tile[lid] = value; //~ race-threadgroup 1
    return lid >= 32 ? tile[lid - 32] : T(0); //~ race-threadgroup 2
}
kernel void shift(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float floats[64];
    threadgroup uint words[64];
    float left = shifted(floats, float(lid), lid);
    out[lid] = left + float(shifted(words, lid, lid));
}
