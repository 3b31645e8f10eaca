// Structs of pointers, nested and initialised from each other: copied in words, read as pointers.
//! oracle: clang
//! kernel: nested
//! threads: 4
//! group: 32
//! arg 0: u32 10 11 12 13
//! arg 1: u32 20 21 22 23
//! arg 2: u32 0*4
//! expect 2: u32 30 32 34 36
//! kernel: chosen
//! threads: 4
//! group: 32
//! arg 0: u32 10 11 12 13
//! arg 1: u32 20 21 22 23
//! arg 2: u32 0*4
//! expect 2: u32 10 21 12 23
//! kernel: indexed
//! threads: 4
//! group: 32
//! arg 0: u32 10 11 12 13
//! arg 1: u32 20 21 22 23
//! arg 2: u32 0*4
//! expect 2: u32 10 21 12 23

#include <metal_stdlib>
using namespace metal;

struct Inner { constant const uint* p; constant const uint* q; };
struct Middle { constant const uint* p; constant const uint* q; Inner next {p, q}; };
struct Outer { constant const uint* p; constant const uint* q; Middle next {p, q}; };

uint sum(Outer outer, uint i) { return outer.next.next.q[i] + outer.next.next.p[i]; }

kernel void nested(constant uint* p, constant uint* q, device uint* out, uint i [[thread_position_in_grid]]) {
    Outer outer {p, q};
    out[i] = sum(outer, i);
}

// The pointers' allocation is known at run time only.
kernel void chosen(constant uint* p, constant uint* q, device uint* out, uint i [[thread_position_in_grid]]) {
    Outer one {p, q};
    Outer other {q, p};
    Outer outer = i % 2 ? other : one;
    out[i] = outer.next.next.p[i];
}

// A private array of structs of pointers.
kernel void indexed(constant uint* p, constant uint* q, device uint* out, uint i [[thread_position_in_grid]]) {
    Middle both[2] = {Middle {p, q}, Middle {q, p}};
    Middle one = both[i % 2];
    out[i] = one.next.p[i];
}
