// An argument that nothing is bound to is null.
//! covers: MSL 2.8, MSL 5.2.1
//! kernel: optional
//! arg 0: i32 4
//! arg 1: none
//! expect 0: i32 40

#include <metal_stdlib>
using namespace metal;

kernel void optional(device int* data, device const int* factor) {
    data[0] *= factor != nullptr ? *factor : 10;
}
