// The arguments of an indirect dispatch, by the names that hosts have for them.
//! kernel: plan
//! arg 0: u32 0*3
//! arg 1: u32 0*5
//! arg 2: u32 1000
//! expect 0: u32 16 1 1
//! expect 1: u32 6 1000 0 4294967295 0

#include <metal_stdlib>
using namespace metal;

kernel void plan(device MTLDispatchThreadgroupsIndirectArguments& groups,
                 device MTLDrawIndexedPrimitivesIndirectArguments* draws, constant uint& count) {
    groups.threadgroupsPerGrid[0] = (count + 63) / 64;
    groups.threadgroupsPerGrid[1] = 1;
    groups.threadgroupsPerGrid[2] = 1;
    draws[0] = {6, count, 0, -1, 0};
}
