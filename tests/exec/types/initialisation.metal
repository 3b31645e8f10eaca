// Every form of initialisation, of numbers, arrays, vectors, classes, bases and references.
//! covers: C++ dcl.init, C++ dcl.init.aggr, C++ dcl.init.list, C++ dcl.init.ref, C++ class.init, C++ class.ctor
//! covers: C++ class.derived, C++ class.conv, C++ class.copy
//! oracle: clang
//! kernel: aggregates
//! arg 0: i32 0*48
//! expect 0: i32 876540 3 4 34 40 10 23 246 306 381 34 142 122 520 4 8 0 4099 111 51 3345 421 560 89 7 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
//! kernel: classes
//! arg 0: i32 0*48
//! expect 0: i32 311 2211 405 131367 98033 2 42055 18 101 12 7 23 0 7 77 83 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
//! kernel: references
//! arg 0: i32 0*48
//! expect 0: i32 29 42 65 111 15 610 20 8 61 5 12 134 86 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0

#include <metal_stdlib>
using namespace metal;

struct Point {
    int x, y;
};

struct Box {
    Point low, high;
    int tags[3];
};

struct Defaults {
    int a = 3;
    int b = a * 2;
    Point p = {b, 7};
    char c{'x'};
};

union Either {
    int whole;
    uchar bytes[4];
};

struct Tagged {
    Either either;
    bool flag;
};

kernel void aggregates(device int* out [[buffer(0)]]) {
    int n = 0;
    int zero{};
    int parenthesised(4);
    int braced{5};
    int copied = {6};
    auto deduced = 7;
    auto braces{8};
    out[n++] = zero + parenthesised * 10 + braced * 100 + copied * 1000 + deduced * 10000 + braces * 100000;
    int partial[5] = {1, 2};
    out[n++] = partial[0] + partial[1] + partial[2] + partial[4];
    int counted[] = {1, 2, 3, 4};
    out[n++] = sizeof(counted) / sizeof(int);
    int square[2][3] = {{1, 2, 3}, {4}};
    out[n++] = square[0][2] * 10 + square[1][0] + square[1][2];
    int flat[2][3] = {1, 2, 3, 4};
    out[n++] = flat[1][0] * 10 + flat[1][1];
    Point point = {1};
    out[n++] = point.x * 10 + point.y;
    Point empty = {};
    Point valued = Point();
    Point listed{2, 3};
    out[n++] = empty.x + valued.y + listed.x * 10 + listed.y;
    Box box = {1, 2, 3, 4, 5, 6};
    out[n++] = box.low.y * 100 + box.high.y * 10 + box.tags[1] + box.tags[2];
    Box nested = {{1, 2}, {3}, {4, 5, 6}};
    out[n++] = nested.high.x * 100 + nested.high.y * 10 + nested.tags[2];
    Box mixed = {listed, 8, 9, {1}};
    out[n++] = mixed.low.y * 100 + mixed.high.x * 10 + mixed.tags[0];
    Point points[3] = {{1, 2}, 3, 4};
    out[n++] = points[1].x * 10 + points[1].y + points[2].x;
    Defaults defaults;
    out[n++] = defaults.a + defaults.b + defaults.p.x + defaults.p.y + defaults.c;
    Defaults changed{1};
    out[n++] = changed.a * 100 + changed.b * 10 + changed.p.x;
    Defaults more{1, 5, {2}};
    out[n++] = more.b * 100 + more.p.x * 10 + more.p.y;
    Either either = {0x01020304};
    out[n++] = either.bytes[0];
    Tagged tagged = {{7}, true};
    out[n++] = tagged.either.whole + tagged.flag;
    Tagged none = {};
    out[n++] = none.either.whole + none.flag;
    char text[] = "abc";
    char padded[6] = "ab";
    out[n++] = sizeof(text) * 1000 + text[2] + padded[5];
    int3 vector = {1, 2, 3};
    int3 short_vector = {9, 8};
    out[n++] = vector.x * 100 + vector.z + short_vector.y + short_vector.z;
    int4 vectors[2] = {{1, 2, 3, 4}, {5, 6}};
    out[n++] = vectors[0].w * 10 + vectors[1].x + vectors[1].y;
    float narrowed = 7 / 2;
    int from_float = 3.75f;
    uchar wrapped = 300;
    bool truth = 42;
    out[n++] = narrowed * 1000 + from_float * 100 + wrapped + truth;
    int a = 1, b = a + 1, c = b * b;
    out[n++] = a + b * 10 + c * 100;
    const Point fixed = {4, 5};
    Point duplicate = fixed, assigned;
    assigned = {6};
    out[n++] = duplicate.y * 100 + assigned.x * 10 + assigned.y;
    assigned = duplicate = {8, 9};
    out[n++] = assigned.x * 10 + duplicate.y;
    int one = int{1} + int(2) + int() + (int)4.5f;
    out[n++] = one;
}

struct Base {
    int base;
    Base() : base(11) {}
    explicit Base(int x) : base(x) {}
};

struct Middle : Base {
    int middle = 22;
    Middle() {}
    Middle(int x) : Base(x + 1), middle(x) {}
};

struct Derived : Middle {
    int own;
    Point point;
    Derived(int x) : Middle(x * 2), own(base + middle), point{own, 1} {}
    Derived(Point p) : own(p.x), point(p) {}
};

struct Delegating {
    int a, b;
    Delegating(int x, int y) : a(x), b(y) {}
    Delegating(int x) : Delegating(x, x * 10) {}
    Delegating() : Delegating(5) {}
};

struct Meters {
    float value;
    Meters(float x) : value(x) {}
    operator float() const { return value; }
    explicit operator bool() const { return value > 1; }
};

struct Wrapper {
    Meters meters;
    int count;
};

static float twice(Meters m) { return m.value * 2; }

struct Counted {
    int copies;
    Counted() : copies(0) {}
    Counted(const thread Counted& other) : copies(other.copies + 1) {}
};

static int passed(Counted counted) { return counted.copies; }
static Counted returned() { return Counted(); }

kernel void classes(device int* out [[buffer(0)]]) {
    int n = 0;
    Base base;
    Base given(3);
    Middle middle;
    Middle converted = 4;
    out[n++] = base.base + given.base * 100;
    out[n++] = middle.base + middle.middle * 100;
    out[n++] = converted.base + converted.middle * 100;
    Derived derived(3);
    out[n++] = derived.base + derived.middle * 10 + derived.own * 100 + derived.point.x * 10000;
    Derived pointed = Point{8, 9};
    out[n++] = pointed.base + pointed.middle + pointed.own * 1000 + pointed.point.y * 10000;
    Derived braced({1, 2});
    out[n++] = braced.point.y;
    Delegating all, some(2), both{3, 4};
    out[n++] = all.a + all.b + some.b * 100 + both.b * 10000;
    Meters meters = 2.5f;
    out[n++] = twice(1.5f) + twice(meters) + meters * 4;
    out[n++] = (meters ? 1 : 0) + (Meters(0.5f) ? 10 : 0) + (meters && true) * 100;
    Wrapper wrapper = {1.0f, 2};
    out[n++] = wrapper.meters.value * 10 + wrapper.count;
    float sum = meters + wrapper.meters;
    out[n++] = sum * 2;
    Counted first;
    Counted second = first, third(second);
    out[n++] = third.copies * 10 + passed(third);
    out[n++] = returned().copies + passed(returned());
    Base sliced = derived;
    out[n++] = sliced.base;
    thread Base& as_base = derived;
    as_base.base = 77;
    out[n++] = derived.base;
    Middle assigned;
    assigned = derived;
    out[n++] = assigned.base + assigned.middle;
}

static int by_const(const thread int& value) { return value; }
static int by_rvalue(int&& value) { return value += 5; }
static thread int& chosen(bool first, thread int& a, thread int& b) { return first ? a : b; }

kernel void references(device int* out [[buffer(0)]]) {
    int n = 0;
    int a = 1, b = 2;
    thread int& r = a;
    r = b;
    b = 9;
    out[n++] = a * 10 + b;
    const thread int& temporary = a + 40;
    a = 0;
    out[n++] = temporary;
    const thread int& converted = 'A';
    out[n++] = converted;
    out[n++] = by_const(3) + by_const('a') + by_const(b) + by_const(2.9f);
    out[n++] = by_rvalue(4) + by_rvalue(a + 1);
    chosen(true, a, b) = 6;
    chosen(false, a, b)++;
    out[n++] = a * 100 + b;
    int array[3] = {1, 2, 3};
    thread int(&whole)[3] = array;
    whole[1] = 8;
    out[n++] = array[1] + sizeof(whole);
    thread int* p = array;
    thread int*& q = p;
    q++;
    out[n++] = *p;
    auto& last = array[2];
    last = 30;
    auto copy = last;
    copy++;
    out[n++] = array[2] + copy;
    const auto& fixed = array[0];
    array[0] = 5;
    out[n++] = fixed;
    Point point = {1, 2};
    thread int& y = point.y;
    y += 10;
    out[n++] = point.y;
    auto [u, v] = point;
    auto& [s, t] = point;
    s = 50;
    u = 60;
    out[n++] = point.x + u + v + t;
    for (thread int& element : array) element *= 2;
    for (int element : array) element = 0;
    out[n++] = array[0] + array[1] + array[2];
    long wide = 1;
    const thread int& narrowed = wide;
    wide = 3;
    out[n++] = narrowed;
}
