// Types whose names, written out, double with each step.
//! oracle: clang
//! kernel: aliases
//! arg 0: u32 0*4
//! expect 0: u32 200 1 2 8

#include <metal_stdlib>
using namespace metal;

template <typename A, typename B> struct Pair { static constexpr constant int depth = A::depth + 1; };
struct Leaf { static constexpr constant int depth = 0; };
template <int N> struct Tower { typedef Pair<typename Tower<N - 1>::type, typename Tower<N - 1>::type> type; };
template <> struct Tower<0> { typedef Leaf type; };

template <int N> struct Functions {
    using before = typename Functions<N - 1>::type;
    using type = void(before*, before*);
};
template <> struct Functions<0> { using type = void(int); };

template <typename T> auto wrapped(T) -> Pair<T, T> { return {}; }
template <int N> auto nested() {
    if constexpr (N == 0) return Leaf();
    else return wrapped(nested<N - 1>());
}

kernel void aliases(device uint* out) {
    out[0] = Tower<200>::type::depth;
    out[1] = is_same_v<Tower<90>::type, Tower<90>::type>;
    out[2] = sizeof(Functions<100>::type*) / 4;
    out[3] = decltype(nested<8>())::depth;
}
