// Differences, comparisons, negative steps, pointers to other types.
//! covers: C++ expr.add
//! oracle: clang
//! kernel: walk
//! arg 0: i32 10 20 30 40
//! arg 1: i32 0*6
//! expect 1: i32 40 30 3 1 20 10

#include <metal_stdlib>
using namespace metal;

kernel void walk(device int* data, device int* out) {
    device int* end = data + 4;
    device int* at = end;
    out[0] = *--at;
    out[1] = at[-1];
    out[2] = int(at - data);
    out[3] = data < at && at != end;
    device uchar* bytes = (device uchar*)data;
    out[4] = *(device int*)(bytes + 4);
    out[5] = *reinterpret_cast<device int*>(bytes);
}
