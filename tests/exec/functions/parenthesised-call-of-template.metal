// `(f<T>())` is a call in parentheses, not a cast to a function type, whatever follows.
//! covers: C++ expr.call
//! oracle: clang
//! kernel: ask
//! arg 0: i32 0*8
//! expect 0: i32 1 2 3 -3 5 7 9 4

#include <metal_stdlib>
using namespace metal;

namespace lib {
template <typename T> constexpr bool is_wide() { return sizeof(T) > 4; }
template <int N> int number() { return N; }
constant int five = 5;
}

template <typename T> struct Tag {
    template <typename U> static bool same() { return sizeof(T) == sizeof(U); }
    int get() { return (same<T>()) ? 5 : 6; }
};

template <typename T> int pick(int a, int b) { return (lib::is_wide<T>()) ? a : b; }

kernel void ask(device int* out)
{
    out[0] = (lib::is_wide<ulong>()) ? 1 : 2;
    out[1] = pick<int>(1, 2);
    out[2] = (lib::number<3>());
    out[3] = (lib::number<2>()) - 5;
    out[4] = Tag<int>().get();
    out[5] = (lib::number<1>()) + 6;
    out[6] = (lib::five) + (lib::number<4>());
    int four = 4;
    device int* p = out + 2;
    out[7] = (int)((lib::number<2>()) * 2) + (*p - 3) * four;
}
