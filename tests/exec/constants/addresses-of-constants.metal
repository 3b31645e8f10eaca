// Addresses as constants: pointers and references at program scope, in structures and as template arguments, and
// pointers to functions that lambdas without captures convert to.
//! covers: MSL 4.2
//! oracle: exact
//! kernel: addresses
//! arg 0: i32 0*6
//! arg 1: u32 1
//! expect 0: i32 5 7 99 21 16 3

#include <metal_stdlib>
using namespace metal;

constant int first = 7;
constant int numbers[4] = {1, 2, 3, 4};
constant const constant int* constant second = &numbers[1];
constant const constant int& alias = first;

struct Named
{
    int length;
    const constant char* text;
};
constexpr constant Named names[2] = {{1, "a"}, {2, "bc"}};

template <const constant int& R> int referred() { return R; }
template <const constant int* P> int pointed() { return P[2]; }

int applied(int (*f)(int), int x) { return f(x); }

kernel void addresses(device int* out [[buffer(0)]], constant uint& one [[buffer(1)]])
{
    out[0] = *second + second[one];
    out[1] = referred<first>() + alias - 7;
    out[2] = names[one].text[one];
    int (*triple)(int) = [](int x) { return 3 * x; };
    int (*next)(int) = [](auto x) { return x + 1; };
    out[3] = triple(first);
    out[4] = applied(one == 1 ? next : triple, 15);
    out[5] = pointed<numbers>();
}
