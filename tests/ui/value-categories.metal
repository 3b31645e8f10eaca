// Reference qualifiers, rvalue references, `decltype(auto)` and deduced class arguments used wrongly.
#include <metal_stdlib>
using namespace metal;

struct S {
    int value;
    int only_lvalue() & { return value; }
    int only_rvalue() && { return value; }
};
S make() { return S{1}; }
int take(int&& x) { return x; }
int change(thread int& x) { return x; }

template <typename T> struct Box {
    T value;
    Box(T a, T b) : value(a) {}
};

kernel void categories(device int* out [[buffer(0)]])
{
    S s{1};
    int n = 1;
    out[0] = s.only_rvalue(); //~ no-matching-function
    out[1] = make().only_lvalue(); //~ no-matching-function
    out[2] = take(n); //~ no-matching-function
    out[3] = change(static_cast<int&&>(n)); //~ no-matching-function
    const decltype(auto) c = n; //~ auto-not-allowed
    Box box(1); //~ class-deduction
    Box nothing; //~ class-deduction
}

kernel void builtins(device uint* out [[buffer(0)]])
{
    out[0] = __builtin_bit_cast(uint, 1.0h); //~ bad-cast
    out[1] = uint(__builtin_bit_cast(ulong, 1.0f)); //~ bad-cast
    __builtin_assume(); //~ argument-count
    __builtin_assume(float2(1)); //~ vector-condition
}

kernel void initialised(device uint* out [[buffer(0)]])
{
    threadgroup uint tile[4] = {0}; //~ threadgroup-initialiser
    out[0] = tile; //~ no-conversion
}
