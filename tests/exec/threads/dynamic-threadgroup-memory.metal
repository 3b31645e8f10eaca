// Memory whose length the launch gives, carved into two arrays.
//! covers: MSL 4.4
//! kernel: carve
//! groups: 1
//! group: 33
//! threadgroup 0: 264
//! arg 0: i32 0*33
//! expect 0: i32 160 155 150 145 140 135 130 125 120 115 110 105 100 95 90 85 80 75 70 65 60 55 50 45 40 35 30 25 20 15 10 5 0

#include <metal_stdlib>
using namespace metal;

kernel void carve(device int* out, threadgroup char* memory [[threadgroup(0)]],
                  uint i [[thread_index_in_threadgroup]]) {
    threadgroup int* first = (threadgroup int*)memory;
    threadgroup int* second = (threadgroup int*)(memory + 33 * 4);
    first[i] = int(i) * 2;
    second[i] = int(i) * 3;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = first[32 - i] + second[32 - i];
}
