// Kernels made from templates by explicit instantiations, with names for the host, and static functions and
// constants of the file.
//! covers: MSL 5.1.10, MSL 5.1.11, MSL 5.2.1, MSL 5.3
//! oracle: exact
//! threads: 3
//! group: 3
//! kernel: scale_float
//! arg 2: f32 1 2 3
//! arg 5: f32 0.5
//! expect 2: f32 1.5 2 2.5
//! kernel: scale_int_4
//! arg 2: i32 1 2 3
//! arg 5: i32 7
//! expect 2: i32 14 15 16
//! kernel: plain
//! arg 0: i32 0*3
//! expect 0: i32 100 101 102

#include <metal_stdlib>
using namespace metal;

static constant int base = 100;

template <typename T> static T twice(T x) { return x + x; }

template <typename T, int offset>
kernel void scale(device T* values [[buffer(2)]], constant T& factor [[buffer(5)]],
                  uint i [[thread_position_in_grid]]) {
    values[i] = offset == 0 ? T(values[i] * factor + T(1)) : T(values[i] + factor + offset + twice(T(1)));
}

template [[host_name("scale_float")]] kernel void scale<float, 0>(device float* values [[buffer(2)]],
                                                                  constant float& factor [[buffer(5)]],
                                                                  uint i [[thread_position_in_grid]]);
template [[host_name("scale_int_4")]] kernel void scale<int, 4>(device int*, constant int&, uint);

kernel void plain(device int* out, uint i [[thread_position_in_grid]]) { out[i] = base + int(i); }
