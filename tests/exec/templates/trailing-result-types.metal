// Result types behind the parameters may name them.
//! covers: C++ temp.deduct
//! kernel: trailing
//! arg 0: f32 0*9
//! expect 0: f32 3.5 3 7 1.5 1.5 6.5 1 2 4

#include <metal_stdlib>
using namespace metal;

template <typename A, typename B> auto add(A a, B b) -> decltype(a + b) { return a + b; }
template <typename A> auto size_of(thread A& a) -> decltype(a.size()) { return a.size(); }
template <typename A> int size_of(A a) { return 7; }
template <typename... A> auto sum(A... a) -> decltype((a + ...)) { return (a + ...); }
template <typename A> auto pick(A a) -> enable_if_t<sizeof(a) == 4, int> { return 1; }
template <typename A> auto pick(A a) -> enable_if_t<sizeof(a) == 2, int> { return 2; }
auto half_of(float x) -> float { return x * 0.5f; }

struct Sized {
    int n;
    int size() const { return n; }
    template <typename T> auto more(T t) const -> decltype(t + n) { return t + n; }
};

kernel void trailing(device float* out [[buffer(0)]]) {
    Sized v{3};
    int z = 1;
    auto lambda = [](auto a, auto b) -> decltype(a + b) { return a + b; };
    out[0] = add(1, 2.5f);
    out[1] = size_of(v);
    out[2] = size_of(z);
    out[3] = lambda(1, 0.5f);
    out[4] = half_of(3);
    out[5] = sum(1, 2.5f, 3);
    out[6] = pick(1);
    out[7] = pick(half(1));
    out[8] = v.more(1.0f);
}
