// A threadgroup variable may be written with an initialiser, which Metal's compiler takes and does not run:
// the kernel stores to every element before it reads.
//! covers: MSL 4.4
//! kernel: reverse
//! threads: 8
//! group: 4
//! arg 0: i32 1..9
//! arg 1: i32 0*8
//! expect 1: i32 4 3 2 1 8 7 6 5

#include <metal_stdlib>
using namespace metal;

struct Pair { int a; int b; };

kernel void reverse(device const int* in [[buffer(0)]], device int* out [[buffer(1)]],
                    uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]])
{
    threadgroup int tile[4] = {0};
    threadgroup Pair pair = {};
    threadgroup int single = 0;
    tile[t] = in[i];
    if (t == 0) { pair.a = 0; pair.b = 0; single = 0; }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = tile[3 - t] + pair.a + pair.b + single;
}
