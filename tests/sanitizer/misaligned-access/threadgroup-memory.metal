// A ulong at an address of threadgroup memory that is a multiple of four only.
// launch: --threads 1 --group 1 --arg out=zeros:u64:1
#include <metal_stdlib>
using namespace metal;

kernel void wide(device ulong *out [[buffer(0)]]) {
    threadgroup ulong tile[2];
    tile[0] = 1;
    tile[1] = 2;
    threadgroup uint *words = reinterpret_cast<threadgroup uint *>(tile);
    out[0] = *reinterpret_cast<threadgroup ulong *>(words + 1); //~ misaligned-access
}
