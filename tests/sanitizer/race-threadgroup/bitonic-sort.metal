// A bitonic sort: each pair belongs to one thread, and a barrier follows each step.
// launch: --threads 64 --group 64 --arg data=rand:u32:64:3
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void sort_all(device uint *data [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup uint keys[64];
    keys[lid] = data[lid];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint size = 2; size <= 64; size *= 2) {
        for (uint step = size / 2; step > 0; step /= 2) {
            uint other = lid ^ step;
            if (other > lid && (keys[lid] > keys[other]) == ((lid & size) == 0)) {
                uint key = keys[lid];
                keys[lid] = keys[other];
                keys[other] = key;
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
    }
    data[lid] = keys[lid];
}
