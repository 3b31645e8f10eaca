// Threadgroup memory given as an argument races as a variable does.
// launch: --threads 64 --group 64 --arg out=zeros:f32:64 --threadgroup-memory 0=256
#include <metal_stdlib>
using namespace metal;

kernel void shift(device float *out [[buffer(0)]], threadgroup float *tile [[threadgroup(0)]],
                  uint lid [[thread_position_in_threadgroup]]) {
    tile[lid] = float(lid); //~ race-threadgroup 1
    if (lid >= 32) {
        out[lid] = tile[lid - 32]; //~ race-threadgroup 2
    }
}
