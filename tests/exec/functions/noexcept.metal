// `noexcept(e)` depends on the declarations of the functions that an expression calls.
//! covers: C++ expr.call
//! oracle: clang
//! kernel: declared
//! arg 0: i32 0*16
//! expect 0: i32 1 0 1 1 0 1 0 1 1 0 1 0 1 1 0 0

#include <metal_stdlib>
using namespace metal;

static int maybe(int x) { return x; }
static int never(int x) noexcept { return x; }
static int never_either(int x) noexcept(true) { return x; }
static int small(int x) noexcept(sizeof(int) > 8) { return x; }
template <typename T> T as_function(T x) noexcept(noexcept(x + x)) { return x; }
struct Loud {
    int n;
    Loud() : n(0) {}
    Loud(const thread Loud& other) : n(other.n) {}
    Loud operator+(Loud) const { return *this; }
    int quiet() const noexcept { return n; }
};
struct Plain { int n; };
struct Wrapper { Loud loud; };
struct Quiet { int n; Quiet() noexcept : n(1) {} Quiet(int) noexcept(false) : n(2) {} };

kernel void declared(device int* out) {
    int x = 1;
    Loud loud;
    Plain plain = {1};
    Wrapper wrapper;
    auto lambda = [](int y) noexcept { return y; };
    auto other = [](int y) { return y; };
    out[0] = noexcept(x + 1);
    out[1] = noexcept(maybe(x));
    out[2] = noexcept(never(x));
    out[3] = noexcept(never_either(x));
    out[4] = noexcept(small(x));
    out[5] = noexcept(as_function(x));
    out[6] = noexcept(as_function(loud));
    out[7] = noexcept(loud.quiet());
    out[8] = noexcept(Plain(plain));
    out[9] = noexcept(Wrapper(wrapper));
    out[10] = noexcept(Quiet());
    out[11] = noexcept(Quiet(1));
    out[12] = noexcept(lambda(1));
    out[13] = noexcept(sizeof(maybe(x)));
    out[14] = noexcept(other(1));
    out[15] = noexcept(never(maybe(x)));
}
