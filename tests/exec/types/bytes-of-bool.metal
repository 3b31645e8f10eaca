// A `bool` that is copied keeps its byte, whatever it is, as when integers are seen as `bool`; one that is
// used is true if the byte is not 0.
//! group: 32
//! arg 0: u8 0..64
//! arg 1: u8 7*64
//! kernel: copied
//! threads: 64
//! expect 1: u8 0..64
//! kernel: reversed
//! threads: 64
//! expect 1: u8 63..-1..-1
//! kernel: of_one_type
//! threads: 64
//! expect 1: u8 0..64
//! kernel: in_fours
//! threads: 16
//! expect 1: u8 0..64
//! kernel: counted
//! threads: 64
//! arg 2: u32 0
//! expect 2: u32 63
//! kernel: negated
//! threads: 64
//! expect 1: u8 1 0*63
#include <metal_stdlib>
using namespace metal;

kernel void copied(device const bool* in [[buffer(0)]], device bool* out [[buffer(1)]],
                   uint i [[thread_position_in_grid]]) {
    out[i] = in[i];
}

kernel void reversed(device const bool* in [[buffer(0)]], device bool* out [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) {
    out[i] = in[63 - i];
}

template <typename T, typename U>
void convert(device const T* in, device U* out, uint i) {
    out[i] = static_cast<U>(in[i]);
}

kernel void of_one_type(device const bool* in [[buffer(0)]], device bool* out [[buffer(1)]],
                        uint i [[thread_position_in_grid]]) {
    convert(in, out, i);
}

kernel void in_fours(device const bool4* in [[buffer(0)]], device bool4* out [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) {
    out[i] = in[i];
}

kernel void counted(device const bool* in [[buffer(0)]], device atomic_uint* sum [[buffer(2)]],
                    uint i [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(sum, in[i], memory_order_relaxed);
}

kernel void negated(device const bool* in [[buffer(0)]], device bool* out [[buffer(1)]],
                    uint i [[thread_position_in_grid]]) {
    out[i] = !in[i];
}
