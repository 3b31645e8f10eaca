// In a function, in a class and in a class template.
struct Holder {
    enum { P = 2, Q = P * 2 };
};
template <int N> struct Shifted {
    enum Value : short { R = N, S = -R };
};
kernel void local(device int* x [[buffer(0)]])
{
    enum { J = 5, K, L = K * 10 };
    enum class Inner : short { M = 3, N = M + 1, O = N * 2 };
    x[0] = L;
    x[1] = int(Inner::O);
    x[2] = Holder::Q;
    x[3] = Shifted<2>::S;
}
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
//! kernel: local
//! arg 0: i32 0 0 0 0
//! expect 0: i32 60 8 4 -2

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
