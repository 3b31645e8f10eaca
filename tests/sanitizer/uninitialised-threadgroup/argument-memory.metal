// Memory of a threadgroup argument is undefined at the start as well.
// launch: --threads 32 --group 32 --arg out=zeros:f32:32 --threadgroup-memory 0=128
#include <metal_stdlib>
using namespace metal;

kernel void read_first(device float *out [[buffer(0)]],
                       threadgroup float *tile [[threadgroup(0)]],
                       uint lid [[thread_position_in_threadgroup]]) {
    out[lid] = tile[lid]; //~ uninitialised-threadgroup
}
