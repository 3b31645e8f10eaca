// Lambdas inside of lambdas: constants of the function around them as template arguments, its `this`, and
// objects without members as constants.
//! covers: C++ expr.prim.lambda
//! oracle: clang
//! kernel: nested
//! threads: 6
//! arg 0: f32 0*6
//! arg 1: i32 0*6
//! expect 0: f32 100 101 102 110 111 112
//! expect 1: i32 2 4 3 105 2 4

#include <metal_stdlib>
using namespace metal;

template <int I> using Int = integral_constant<int, I>;

template <int start, int stop, typename F> void each(F f) {
    if constexpr (start < stop) {
        constexpr auto idx = Int<start>{};
        f(idx);
        each<start + 1, stop, F>(f);
    }
}

template <typename F> void dispatch_bool(bool v, F f) {
    if (v) f(true_type{});
    else f(false_type{});
}

template <short Half, bool A, bool B> int chosen() { return Half + (A ? 2 : 0) + (B ? 1 : 0); }

struct Tile {
    float v[6];
    template <int r, int c> thread float& at() thread { return v[r * 3 + c]; }
    void fill(float x) thread {
        each<0, 2>([&](auto r) {
            each<0, 3>([&](auto c) { at<r.value, c.value>() = x + r * 10 + c; });
        });
    }
};

template <short Size> int of_size(uint i) {
    constexpr short half_size = Size / 2;
    int result = 0;
    dispatch_bool(i & 1, [&](auto a) {
        dispatch_bool(i & 2, [&](auto b) {
            result = chosen<half_size, a.value, b.value>();
            if constexpr (a && b) result += 100;
        });
    });
    return result;
}

kernel void nested(device float* out [[buffer(0)]], device int* sizes [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    Tile tile;
    tile.fill(100);
    out[i] = tile.v[i];
    sizes[i] = of_size<4>(i);
}
