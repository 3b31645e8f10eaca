// Packs in lists in braces, and calls of members of dependent types as template arguments.
//! covers: C++ temp.variadic
//! kernel: packs
//! arg 0: f32 0*8
//! expect 0: f32 6 3 12 21 2 5 8 7

#include <metal_stdlib>
using namespace metal;

template <typename... T> float total(T... t) {
    const float all[] = {float(t)...};
    float sum = 0;
    for (float x : all) sum += x;
    return sum + (sizeof(all) / sizeof(float) - sizeof...(T));
}

template <int... N> struct Lengths {
    static constexpr int count() { return sizeof...(N); }
    static constexpr int get(int i) {
        const int all[] = {N...};
        return all[i];
    }
    int doubled[sizeof...(N) + 1];
    Lengths() : doubled{1, N * 2 ...} {}
};

template <typename L> struct Uses {
    array<float, L::count()> held;
    int sum() {
        int s = 0;
        for (int i = 0; i < L::count(); i++) {
            held[i] = L::get(i);
            s += int(held[i]);
        }
        return s;
    }
};

struct Pair {
    float a, b;
};
template <typename... T> Pair pair_of(T... t) { return {t...}; }
template <typename... T> float4 vector_of(T... t) { return float4{float(t + 1)...}; }

kernel void packs(device float* out [[buffer(0)]]) {
    out[0] = total(1, 2.0f, half(3));
    out[1] = Lengths<4, 5, 6>::count();
    Lengths<4, 5, 6> lengths;
    out[2] = lengths.doubled[3];
    Uses<Lengths<6, 7, 8>> uses;
    out[3] = uses.sum();
    out[4] = pair_of(1.0f, 2.0f).b;
    out[5] = vector_of(1, 2, 3, 4).w;
    out[6] = vector_of(1, 2, 7, 4).z;
    out[7] = total(7);
}
