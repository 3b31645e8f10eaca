// The mark in the source says that this race is meant: nothing is reported.
// launch: --threads 64 --group 64 --arg out=zeros:u32:64
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void flag(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]],
                 uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup uint hint[2];
    if (lane == 0) {
        hint[simdgroup] = 0;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lid == 0) {
        hint[0] = 1;
    }
    if (simdgroup == 1) {
        out[lid] = hint[0]; // anymetal: benign race
    }
}
