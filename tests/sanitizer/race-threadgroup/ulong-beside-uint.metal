// The uint that is written is beside the ulong that is read.
// launch: --threads 64 --group 64 --arg out=zeros:u64:1
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void beside(device ulong *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup ulong wide[2];
    threadgroup uint *words = reinterpret_cast<threadgroup uint *>(wide);
    if (lid == 0) {
        wide[0] = 5;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lid == 3) {
        words[2] = 7;
    }
    if (lid == 40) {
        out[0] = wide[0];
    }
}
