// `decltype(auto)` keeps references and qualifiers that `auto` drops: for results, variables and in templates.
//! covers: C++ dcl.spec.auto
//! oracle: clang
//! kernel: keep
//! arg 0: i32 1 2 3
//! arg 1: i32 0*6
//! expect 0: i32 10 20 3
//! expect 1: i32 7 5 1 0 9 4

#include <metal_stdlib>
using namespace metal;

decltype(auto) at(device int* p, int i) { return p[i]; }
decltype(auto) copied(device int* p) { int x = p[0]; return x; }
decltype(auto) paren(thread int& x) { return (x); }
template <typename F, typename T> decltype(auto) apply(F f, thread T& x) { return f(x); }

struct S {
    int value;
    decltype(auto) get() { return (value); }
    decltype(auto) read() const { return value; }
};

kernel void keep(device int* p [[buffer(0)]], device int* out [[buffer(1)]])
{
    at(p, 0) = 10;
    at(p, 1) = 20;
    int x = 5;
    decltype(auto) same = (x);
    same = 7;
    out[0] = x;
    decltype(auto) copy = copied(p);
    copy = 5;
    out[1] = copy;
    out[2] = is_same_v<decltype(paren(x)), thread int&>;
    out[3] = is_same_v<decltype(copied(p)), thread int&>;
    S s{3};
    s.get() = 9;
    out[4] = s.read();
    auto half_of = [](thread int& v) { return v / 2; };
    int eight = 8;
    out[5] = apply(half_of, eight);
}
