// A transpose through a threadgroup tile: each thread writes its element and reads another one after the barrier.
// launch: --threads 16,16 --group 16,16 --arg data=iota:f32:256
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void transpose(device float *data [[buffer(0)]],
                      uint2 lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[16][17];
    tile[lid.y][lid.x] = data[lid.y * 16 + lid.x];
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    data[lid.y * 16 + lid.x] = tile[lid.x][lid.y];
}
