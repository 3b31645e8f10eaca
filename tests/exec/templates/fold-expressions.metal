// Fold expressions of all four forms (C++17 [expr.prim.fold]), empty packs, and the operators that order.
//! covers: C++ expr.prim.fold
//! oracle: clang
//! kernel: fold
//! arg 0: i32 0*21
//! expect 0: i32 10 10 20 20 2 8 1 0 1 0 24 6 4 1234 3 15 0 0 9 5 36

#include <metal_stdlib>
using namespace metal;

template <typename... Ts> int sum_right(Ts... xs) { return (xs + ...); }
template <typename... Ts> int sum_left(Ts... xs) { return (... + xs); }
template <typename... Ts> int sum_from(Ts... xs) { return (xs + ... + 10); }
template <typename... Ts> int sum_onto(Ts... xs) { return (10 + ... + xs); }
// 10 - (5 - (3 - 0)) = 8, and ((10 - 5) - 3) = 2.
template <typename... Ts> int minus_left(Ts... xs) { return (... - xs); }
template <typename... Ts> int minus_right(Ts... xs) { return (xs - ...); }
template <typename... Ts> bool all_of(Ts... xs) { return (... && xs); }
template <typename... Ts> bool any_of(Ts... xs) { return (xs || ...); }
template <int... Ns> struct Product { static constexpr constant int value = (Ns * ... * 1); };
template <typename... Ts> int sizes() { return (0 + ... + int(sizeof(Ts))); }
template <typename... Ts> int count(Ts... xs) { int n = 0; ((n += (xs > 0)), ...); return n; }
template <typename... Ts> int digits(Ts... xs) { int n = 0; ((n = n * 10 + xs), ...); return n; }
template <typename... Ts> void store(device int* p, Ts... xs) { int at = 0; ((p[at++] = xs), ...); }
struct Big { int v; };
Big operator|(Big a, Big b) { return Big{a.v + b.v}; }
template <typename... Ts> int own(Ts... xs) { return (xs | ...).v; }
template <typename... Ts> int assign(Ts... xs) { int n = 1; (n += ... += xs); return n; }
template <typename... Ts> void nothing(Ts... xs) { (xs, ...); }
// The inner fold is expanded whole for each element of the outer one.
template <typename... Ts> int nested(Ts... xs) { return ((xs * (xs + ...)) + ...); }
template <int... Ns> int shorted(thread int& hits) {
    (((hits += 1) < Ns) || ...);
    return hits;
}

kernel void fold(device int* out)
{
    out[0] = sum_right(1, 2, 3, 4);
    out[1] = sum_left(1, 2, 3, 4);
    out[2] = sum_from(1, 2, 3, 4);
    out[3] = sum_onto(1, 2, 3, 4);
    out[4] = minus_left(10, 5, 3);
    out[5] = minus_right(10, 5, 3);
    out[6] = all_of(true, 1, 2);
    out[7] = all_of(true, 0, 2);
    out[8] = all_of();
    out[9] = any_of();
    out[10] = Product<2, 3, 4>::value;
    out[11] = sizes<short, int>();
    out[12] = count(1, -1, 2, 3, 4);
    out[13] = digits(1, 2, 3, 4);
    store(out + 14, 3);
    out[15] = own(Big{1}, Big{2}, Big{4}, Big{8});
    nothing();
    out[16] = 0;
    out[17] = any_of(false, 0);
    out[18] = assign(3, 5);
    int hits = 0;
    out[19] = shorted<1, 2, 3, 4, 9, 9, 9>(hits);
    out[20] = nested(1, 2, 3);
}
