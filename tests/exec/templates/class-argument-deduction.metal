// Template arguments of classes deduced from initialisers: by constructors, by deduction guides, by copies.
//! covers: C++ over.match.class.deduct
//! oracle: clang
//! kernel: deduce
//! arg 0: i32 0*16
//! expect 0: i32 3 1 8 7 12 4 5 2 9 6 1 10 11 4 2 8

#include <metal_stdlib>
using namespace metal;

template <typename T> struct Box {
    T value;
    Box(T v) : value(v) {}
    int size() const { return sizeof(T); }
};

template <typename A, typename B> struct Two {
    A a;
    B b;
    Two(A x, B y) : a(x), b(y) {}
    template <typename C> explicit Two(C both, int) : a(both), b(both) {}
};

template <typename T, int N> struct Array {
    T items[N];
    Array(thread const T (&from)[N]) { for (int n = 0; n < N; ++n) { items[n] = from[n]; } }
    int count() const { return N; }
};

// An aggregate, with guides of its own.
template <typename T, int N = 1> struct Tuple { T first; T second; static constexpr constant int n = N; };
template <typename T> Tuple(T, T) -> Tuple<T>;
template <typename T> Tuple(T) -> Tuple<T, 2>;
Tuple(short, int) -> Tuple<int, 4>;

template <typename T = int> struct Defaulted { T value = 9; };

template <typename F> struct Callable {
    F f;
    Callable(F g) : f(g) {}
    int operator()(int x) const { return f(x); }
};

template <typename T> struct Wrap {
    T value;
    Wrap(T v) : value(v) {}
};
template <typename T> Wrap(thread const T*) -> Wrap<int>;

kernel void deduce(device int* out)
{
    Box box(3);
    out[0] = box.value;
    Box byte{char(1)};
    out[1] = byte.size();
    const Box wide = 5l;
    out[2] = wide.size();
    auto made = Box(7);
    out[3] = made.value;
    Two two(4, 8.0f);
    out[4] = two.a + int(two.b);
    int items[4] = {1, 2, 3, 4};
    Array array(items);
    out[5] = array.count();
    Box copy(box);
    copy.value = 5;
    out[6] = copy.value;
    Tuple guided{short(1), short(2)};
    out[7] = sizeof(guided.first);
    Defaulted defaulted;
    out[8] = defaulted.value;
    Callable twice([](int x) { return x * 2; });
    out[9] = twice(3);
    Tuple pair{1, 2};
    out[10] = pair.n;
    Tuple special{short(10), 3};
    out[11] = special.first;
    Box again = Box{11};
    out[12] = again.value;
    out[13] = special.n;
    out[14] = Tuple{1.0f}.n;
    Box nested(Box(8l));
    out[15] = nested.size();
}
