// Friends that are defined in their class: found by the types of the arguments.
//! covers: C++ class.friend, C++ basic.lookup.argdep
//! oracle: clang
//! kernel: friends
//! arg 0: f32 0*8
//! expect 0: f32 12 6 12 0 2 12 5 9

#include <metal_stdlib>
using namespace metal;

template <typename T> struct Dual {
    T v, d;
    friend Dual operator*(Dual a, Dual b) { return {a.v * b.v, a.d * b.v + a.v * b.d}; }
    friend bool operator<(thread const Dual& x, thread const Dual& y) { return x.v < y.v; }
    friend T value_of(Dual x) { return x.v; }
    template <typename S> friend Dual scaled(Dual x, S s) { return {x.v * s, x.d * s}; }
    friend struct Other;
    friend float secret(Dual<float> x);
};

struct Derived : Dual<float> {};

float secret(Dual<float> x) { return x.v + 1; }

struct Box {
    int n;
    static constant constexpr int side = 3;
    friend int area(Box b) { return b.n * side; }
    friend int area(Box b, int more) { return area(b) + more; }
};

namespace nested {
    struct Item {
        float w;
        friend float weight(Item item) { return item.w; }
    };
}

kernel void friends(device float* out [[buffer(0)]]) {
    Dual<float> a{2, 1}, b{3, 0};
    auto c = scaled(a * b, 2);
    Derived e;
    e.v = 1;
    e.d = 2;
    out[0] = c.v;
    out[1] = c.d;
    out[2] = value_of(c);
    out[3] = b < a;
    out[4] = secret(e);
    out[5] = area(Box{4});
    out[6] = weight(nested::Item{5});
    out[7] = area(Box{2}, 3);
}
