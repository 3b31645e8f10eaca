// Sequences of integers and packs deduced from them.
//! covers: C++ temp.variadic, C++ temp.deduct
//! kernel: sequences
//! arg 0: i32 0*6
//! expect 0: i32 10 6 0 3 1 499500

#include <metal_stdlib>
using namespace metal;

template <size_t... I> int total(index_sequence<I...>) { return (int(I) + ... + 0); }
template <int... I> int sum(integer_sequence<int, I...>) { return (I + ... + 0); }
template <typename... T> int count(T...) { return index_sequence_for<T...>::size(); }

kernel void sequences(device int* out) {
    out[0] = total(make_index_sequence<5>());
    out[1] = sum(make_integer_sequence<int, 4>());
    out[2] = total(make_index_sequence<0>());
    out[3] = count(1, 2.0f, out);
    out[4] = is_same<make_integer_sequence<short, 3>, integer_sequence<short, 0, 1, 2>>::value;
    out[5] = total(make_index_sequence<1000>());
}
