// Device memory needs order within a SIMD-group as well: lanes shift a row in place.
// launch: --threads 32 --group 32 --arg data=iota:u32:33
#include <metal_stdlib>
using namespace metal;

kernel void shift(device uint *data [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    data[gid] = data[gid + 1]; //~ race-simdgroup 12
}
