// Sizes, alignments and offsets as in C with Metal's vector alignments.
//! covers: MSL 2.5
//! kernel: sizes
//! arg 0: u32 0*8
//! expect 0: u32 16 12 32 16 8 4 48 3

#include <metal_stdlib>
using namespace metal;

struct Inner { char tag; float3 value; };
struct Outer { Inner inner; short last; };
struct Packed { packed_float3 value; };
struct Three { uchar a[3]; };
kernel void sizes(device uint* out) {
    out[0] = sizeof(float3);
    out[1] = sizeof(Packed);
    out[2] = sizeof(Inner);
    out[3] = alignof(Outer);
    out[4] = sizeof(half4);
    out[5] = sizeof(uchar3);
    out[6] = sizeof(Outer);
    out[7] = sizeof(Three);
}
