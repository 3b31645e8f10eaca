// A half2 store at an odd half.
// launch: --threads 1 --group 1 --arg out=zeros:f16:8
#include <metal_stdlib>
using namespace metal;

kernel void store(device half *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    *reinterpret_cast<device half2 *>(out + gid + 1) = half2(1.0h, 2.0h); //~ misaligned-access
}
