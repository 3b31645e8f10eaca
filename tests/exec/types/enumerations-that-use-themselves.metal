// Enumerators made from others of their enumeration, whichever of them is used first.
//! covers: C++ dcl.enum
//! oracle: clang
//! kernel: first
//! arg 0: i32 0
//! expect 0: i32 4
//! kernel: last
//! arg 0: i32 0
//! expect 0: i32 -8
//! kernel: middle
//! arg 0: i32 0
//! expect 0: i32 21

#include <metal_stdlib>
using namespace metal;

enum Flag { A = (1 << 2), B = 2 | 1, MASK = ~(A | B) };
enum Step { C = 4, D, E = C + D, F = (D | E) };
enum Link { G = 1, H = G + 1, I = H * 5 };

template <typename T> struct Kind { static constant constexpr int value = 0; };
template <> struct Kind<Link> { static constant constexpr int value = 20; };

kernel void first(device int* x [[buffer(0)]]) { x[0] = A; }
kernel void last(device int* x [[buffer(0)]]) { x[0] = MASK; }
// An enumerator that another one was made from has the enumeration's type as well.
kernel void middle(device int* x [[buffer(0)]])
{
    int sum = F - E + D + I - 2 * D - C + C - 9;
    x[0] = sum + Kind<decltype(H)>::value + G;
}
