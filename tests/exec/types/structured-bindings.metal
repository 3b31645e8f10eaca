// Structured bindings to arrays, vectors, members and members of a base; by value and by reference; in loops.
//! covers: C++ dcl.struct.bind
//! oracle: clang
//! kernel: bind
//! arg 0: i32 3 4
//! arg 1: i32 0*20
//! expect 0: i32 30 4
//! expect 1: i32 1 2 10 20 3 5 6 11 3 7 8 9 21 4 30 3 100 200 4 6

#include <metal_stdlib>
using namespace metal;

struct Pair { int a; int b; };
struct Base { int x; float y; };
struct Derived : Base { int sum() const { return x; } };
struct Bits { uint low : 4; uint high : 4; };
struct Ref { device int& target; int other; };

Pair make(int n) { return Pair{n, n + 1}; }

template <typename T> int total(T value) { auto [p, q] = value; return p + q; }

kernel void bind(device Pair* in [[buffer(0)]], device int* out [[buffer(1)]])
{
    Pair pair{1, 2};
    auto [a, b] = pair;
    pair.a = 50;
    out[0] = a; out[1] = b;
    auto& [ra, rb] = pair;
    ra = 10; rb = 20;
    out[2] = pair.a; out[3] = pair.b;
    int array[3] = {3, 4, 5};
    auto [e0, e1, e2] = array;
    array[0] = 99;
    out[4] = e0; out[5] = e2;
    auto [vx, vy] = int2(6, 7);
    out[6] = vx;
    const auto& [c0, c1] = make(10);
    out[7] = c1;
    Derived derived{{3, 1.5f}};
    auto [x, y] = derived;
    out[8] = x; out[9] = int(y * 4) + 1;
    auto [low, high]{Bits{8, 9}};
    out[10] = low; out[11] = high;
    out[12] = total(make(10));
    device auto& [da, db] = in[0];
    out[13] = db;
    da *= 10;
    Ref ref{in->a, 3};
    auto [target, other] = ref;
    out[14] = target;
    out[15] = other;
    Pair pairs[2] = {{100, 1}, {200, 2}};
    int at = 16;
    for (const auto [first, second] : pairs) { out[at++] = first * (second > 0); }
    int sum = 0;
    for (auto& [first, second] : pairs) { second += 1; sum += second; }
    out[18] = sum - 1;
    auto&& [f0, f1] = make(5);
    f0 += 1;
    out[19] = decltype(f0)(f0) + 0 * f1;
}
