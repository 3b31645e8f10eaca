// Kernels made by nested macros, with names from strings and pasted tokens.
//! covers: C++ cpp.replace, MSL 5.1.10
//! kernel: fill_i32
//! threads: 2
//! group: 2
//! arg 0: i32 0*2
//! expect 0: i32 3 3
//! kernel: fill_half
//! threads: 2
//! group: 2
//! arg 0: f16 0*2
//! expect 0: f16 1.5 1.5

#include <metal_stdlib>
using namespace metal;

#define FILL(NAME, T, VALUE)                                                               \
    [[host_name("fill_" #NAME)]] kernel void fill_##NAME##_kernel(device T* out,           \
                                                                  uint i [[thread_position_in_grid]]) { \
        out[i] = VALUE;                                                                    \
    }
#define EACH(M, ...) M(i32, int, 3) M(half, half, __VA_ARGS__)
EACH(FILL, 1.5h)
