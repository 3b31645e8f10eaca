// rank, extent and remove_all_extents of an array whose type a function deduces.
//! covers: C++ temp.deduct
//! oracle: clang
//! kernel: k
//! threads: 1
//! arg 0: u32 0*5
//! expect 0: u32 3 2 3 4 24
#include <metal_stdlib>
using namespace metal;

template <typename T> void describe(thread T& array, device uint* out) {
    out[0] = rank_v<T>;
    out[1] = extent_v<T>;
    out[2] = extent<T, 1>::value;
    out[3] = extent<T, 2>::value;
    out[4] = sizeof(T) / sizeof(remove_all_extents_t<T>);
}

kernel void k(device uint* out [[buffer(0)]])
{
    short values[2][3][4];
    values[0][0][0] = 0;
    describe(values, out);
}
