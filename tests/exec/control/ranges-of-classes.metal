// Loops over classes with `begin()` and `end()`, members or not, and over the library's `array`.
//! covers: C++ stmt.ranged
//! oracle: clang
//! kernel: ranges
//! arg 0: f32 1 2 3 4
//! arg 1: f32 0*6
//! expect 0: f32 2 4 6 8
//! expect 1: f32 20 9 3 6 70 5

#include <metal_stdlib>
using namespace metal;

struct Iterator {
    device float* at;
    device float& operator*() const { return *at; }
    thread Iterator& operator++() {
        ++at;
        return *this;
    }
    bool operator!=(Iterator other) const { return at != other.at; }
};

struct Slice {
    device float* first;
    uint count;
    Iterator begin() const { return {first}; }
    Iterator end() const { return {first + count}; }
};

// Its only member is an array, and what it goes over is a part of that.
struct Middle {
    float all[4];
    thread const float* begin() const { return all + 1; }
    thread const float* end() const { return all + 3; }
};

namespace counting {
    struct Count {
        int value;
        int operator*() const { return value; }
        void operator++() { value += 2; }
        friend bool operator!=(Count a, Count b) { return a.value < b.value; }
    };
    struct Odd {
        int below;
    };
    Count begin(Odd) { return {1}; }
    Count end(Odd odd) { return {odd.below}; }
}

struct Pair {
    int a, b;
};

kernel void ranges(device float* x [[buffer(0)]], device float* out [[buffer(1)]]) {
    for (device float& v : Slice{x, 4}) v *= 2;
    float sum = 0;
    for (auto v : Slice{x, 4}) sum += v;
    out[0] = sum;
    Middle middle{{1, 4, 5, 8}};
    sum = 0;
    for (float v : middle) sum += v;
    out[1] = sum;
    int rounds = 0;
    for (int n : counting::Odd{7}) rounds += n > 0;
    out[2] = rounds;
    array<int, 3> three{{1, 2, 3}};
    int total = 0;
    for (int n : three) total += n;
    out[3] = total;
    Pair pairs[] = {{1, 20}, {2, 25}};
    int products = 0;
    for (auto [a, b] : pairs) products += a * b;
    out[4] = products;
    int last = 0;
    for (int n : counting::Odd{9}) {
        if (n == 3) continue;
        if (n > 5) break;
        last = n;
    }
    out[5] = last;
}
