// Which function a call means: exact matches, promotions, conversions, classes, templates, defaults.
//! covers: C++ over.match, C++ over.ics.rank, C++ over.oper, C++ temp.deduct, C++ temp.func.order, C++ expr.cast
//! oracle: clang
//! kernel: ranks
//! arg 0: i32 0*48
//! expect 0: i32 11321 12122 2221 1321 121 23321 312 3312 21 122 122 2212 122 389 0 5 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
//! kernel: templates
//! arg 0: i32 0*48
//! expect 0: i32 13214 841 321 52 2126 46 310 7 84 232 184 18 79 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
//! kernel: members
//! arg 0: i32 0*48
//! expect 0: i32 46 739 66 372 1737 1010 15 7 21 704 21 1002 3025 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0

#include <metal_stdlib>
using namespace metal;

static int a(int) { return 1; }
static int a(long) { return 2; }
static int a(float) { return 3; }
static int b(uint) { return 1; }
static int b(int) { return 2; }
static int c(short) { return 1; }
static int c(int) { return 2; }
static int d(bool) { return 1; }
static int d(int) { return 2; }
static int d(thread void*) { return 3; }
static int e(int, float) { return 1; }
static int e(float, float) { return 2; }
static int f(int) { return 1; }
static int f(int, int) { return 2; }
static int f(float, int = 0, int = 0) { return 3; }
static int g(const thread int*) { return 1; }
static int g(thread int*) { return 2; }
static int g(thread void*) { return 3; }
static int h(const thread int&) { return 1; }
static int h(thread int&) { return 2; }
static int h(int&&) { return 3; }
static int i(char) { return 1; }
static int i(uchar) { return 2; }

struct Animal {
    int legs;
};
struct Dog : Animal {};
struct Puppy : Dog {};
struct Number {
    int value;
    Number(int x) : value(x) {}
};
struct Text {
    int value;
    operator int() const { return value; }
};

static int k(Animal) { return 1; }
static int k(Dog) { return 2; }
static int l(const thread Animal*) { return 1; }
static int l(const thread Dog*) { return 2; }
static int m(Number) { return 1; }
static int m(float) { return 2; }
static int o(Number) { return 1; }
static int o(bool) { return 2; }

kernel void ranks(device int* out [[buffer(0)]]) {
    int n = 0;
    char ch = 1;
    short sh = 1;
    ushort us = 1;
    bool bo = true;
    out[n++] = a(ch) + 10 * a(1L) + 100 * a(1.0f) + 1000 * a(bo) + 10000 * a(us);
    out[n++] = b(ch) + 10 * b(us) + 100 * b(1u) + 1000 * b(bo) + 10000 * b('a' + 1u);
    out[n++] = c(sh) + 10 * c(ch) + 100 * c(us) + 1000 * c(1);
    out[n++] = d(bo) + 10 * d(ch) + 100 * d(&n) + 1000 * d(1 < 2);
    out[n++] = e(1, 2) + 10 * e(1.0f, 2) + 100 * e(ch, ch);
    out[n++] = f(1) + 10 * f(1, 1) + 100 * f(1.0f) + 1000 * f(1, 1, 1) + 10000 * f(ch, ch);
    const int fixed = 1;
    out[n++] = g(&n) + 10 * g(&fixed) + 100 * g(&ch);
    out[n++] = h(n) + 10 * h(fixed) + 100 * h(1) + 1000 * h(n + 0);
    out[n++] = i('a') + 10 * i((uchar)1);
    Puppy puppy = {};
    Dog dog = {};
    Animal animal = {};
    out[n++] = k(puppy) + 10 * k(dog) + 100 * k(animal);
    out[n++] = l(&puppy) + 10 * l(&dog) + 100 * l(&animal);
    Text text = {5};
    out[n++] = m(1) + 10 * m(Number(1)) + 100 * m(1.0f) + 1000 * m(text);
    out[n++] = o(1) + 10 * o(&n) + 100 * o(Number(2));
    out[n++] = static_cast<float>(7) / 2 * 10 + (int)2.9f + int('a') + (uchar)-1;
    out[n++] = *reinterpret_cast<thread int*>(reinterpret_cast<thread uchar*>(&n)) - n;
    out[n++] = static_cast<Dog>(puppy).legs + static_cast<thread Animal&>(puppy).legs + (long)text;
    *const_cast<thread int*>(static_cast<const thread int*>(&n)) += 1;
    out[n - 1] = n;
}

template <typename T> static int p(T) { return 1; }
template <typename T> static int p(thread T*) { return 2; }
template <typename T> static int p(const thread T*) { return 3; }
static int p(int) { return 4; }
template <typename T> static int q(T, T) { return sizeof(T); }
template <typename T, typename U> static int r(T, U) { return 1; }
template <typename T> static int r(T, T) { return 2; }
template <typename T> static int r(T, int) { return 3; }
template <typename T, int N> static int s(const thread T (&)[N]) { return N * 10 + sizeof(T); }
template <typename T = short> static int t(int x = 4) { return sizeof(T) + x; }
template <typename R, typename T> static R converted(T x) { return R(x); }
template <typename... T> static int count(T...) { return sizeof...(T); }
template <typename T, typename... R> static int total(T first, R... rest) {
    if constexpr (sizeof...(R) == 0) return first;
    else return first + total(rest...);
}
template <typename T> static auto sum(T x, T y) -> decltype(x + y) { return x + y; }
template <typename T> struct Holder {
    T value;
    template <typename U> int combined(U other) const { return sizeof(T) * 10 + sizeof(U) + value + other; }
};
template <typename T> static int held(Holder<T> holder) { return sizeof(T) * 100 + holder.value; }
template <typename T> static int u(T&&) { return sizeof(T); }
template <int N> struct Fixed {
    enum { value = N * 2 };
};
template <bool B> static int flagged() { return B ? 7 : 8; }
template <> int flagged<false>() { return 9; }

kernel void templates(device int* out [[buffer(0)]]) {
    int n = 0;
    char ch = 1;
    const int fixed = 2;
    out[n++] = p(1) + 10 * p(1L) + 100 * p(&n) + 1000 * p(&fixed) + 10000 * p(ch);
    out[n++] = q(ch, ch) + 10 * q(1, 2) + 100 * q<long>(ch, 2);
    out[n++] = r(1, 1.0f) + 10 * r(1.0f, 1.0f) + 100 * r(1.0f, 1);
    short array[5] = {};
    out[n++] = s(array);
    out[n++] = t() + 10 * t<long>() + 1000 * t<char>(1);
    out[n++] = converted<uchar>(300) + converted<int>(2.5f);
    out[n++] = count() + 10 * count(1) + 100 * count(1, 'a', 2.0f);
    out[n++] = total(1, 2L, 3.5f, ch);
    out[n++] = sizeof(sum(ch, ch)) + 10 * sizeof(sum(1L, 2L));
    Holder<short> holder = {5};
    out[n++] = holder.combined(ch) + held(holder);
    out[n++] = u(n) + 10 * u(1L) + 100 * u(ch);
    out[n++] = Fixed<3 + 1>::value + Fixed<sizeof(int)>::value + Fixed<(4 > 3)>::value;
    out[n++] = flagged<true>() * 10 + flagged<(1 > 2)>();
}

struct Explicit {
    int value;
    explicit operator float() const { return value * 0.5f; }
    explicit operator int() const { return value; }
};

struct Vec {
    int x, y;
    Vec operator+(Vec other) const { return {x + other.x, y + other.y}; }
    Vec operator-() const { return {-x, -y}; }
    thread Vec& operator+=(int k) {
        x += k;
        return *this;
    }
    thread Vec& operator++() {
        ++x;
        return *this;
    }
    Vec operator++(int) {
        Vec old = *this;
        ++y;
        return old;
    }
    int operator[](int k) const { return k ? y : x; }
    int operator()(int k) const { return x * k + y; }
    bool operator==(Vec other) const { return x == other.x && y == other.y; }
    explicit operator bool() const { return x || y; }
    operator int() const { return x * 100 + y; }
    static int made(int) { return 1; }
    int made(char) const { return 2; }
};
static Vec operator*(Vec v, int k) { return {v.x * k, v.y * k}; }
static Vec operator*(int k, Vec v) { return {v.x * k + 1, v.y * k}; }
static bool operator<(Vec v, Vec w) { return v.x < w.x; }
static int operator,(Vec v, int k) { return v.x + k * 2; }
static int operator&&(Vec v, Vec w) { return v.y + w.y; }
enum Unit { METRE = 1, FOOT };
static int operator+(Unit u, Unit w) { return u * 1000 + w; }
static Unit operator++(thread Unit& u) { return u = Unit(u + 1); }

kernel void members(device int* out [[buffer(0)]]) {
    int n = 0;
    Vec v = {1, 2}, w = {3, 4};
    out[n++] = (v + w).x * 10 + (v + w).y;
    out[n++] = (-v).x + (v * 2).y * 10 + (2 * w).x * 100;
    out[n++] = (v += 5).x + v.x * 10;
    out[n++] = (++v).x * 10 + v++.y + v.y * 100;
    out[n++] = v[0] + v[1] * 10 + v(2) * 100;
    out[n++] = (v == w) + (v == v) * 10 + (v < w) * 100 + (w < v) * 1000;
    out[n++] = (v, 4);
    out[n++] = v && w;
    out[n++] = (v ? 1 : 2) + (Vec{0, 0} ? 10 : 20);
    out[n++] = v + 1;
    out[n++] = v.made(1) + 10 * v.made('a');
    out[n++] = METRE + FOOT;
    Explicit made = {5};
    out[n++] = float(made) * 10 + (int)made * 100 + static_cast<float>(made) * 1000;
    Unit unit = METRE;
    ++unit;
    out[n++] = unit;
}
