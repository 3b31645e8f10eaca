// Expressions whose value is known or unused: what computes them is evaluated all the same, and only that.
//! covers: C++ expr.comma, C++ expr.cond, C++ expr.log, C++ expr.sizeof, C++ conv.ptr, C++ class.static
//! covers: C++ expr.prim.lambda
//! oracle: clang
//! kernel: null_pointers
//! arg 0: i32 0*24
//! expect 0: i32 5 1 6 16 19 1 0 1 22 32 1 52 63 63 74 84 86 95 11 0 0 0 0 0
//! kernel: discarded
//! arg 0: i32 0*24
//! expect 0: i32 1 3 6 13 14 17 20 21 22 23 29 27 33 1 51 35 0 0 0 0 0 0 0 0
//! kernel: known_results
//! arg 0: i32 0*24
//! arg 1: i32 0
//! expect 0: i32 1 2 3 5 4 5 5 6 0 15 9 10 12 13 14 15 16 117 17 18 21 21 0 0
//! kernel: unevaluated
//! arg 0: i32 0*24
//! expect 0: i32 24 5 4 8 4 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
//! kernel: static_members
//! arg 0: i32 0*24
//! expect 0: i32 7 1 8 6 18 12 15 14 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
//! kernel: arguments
//! arg 0: i32 0*24
//! expect 0: i32 20 1 2 3 40 5 10 15 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0

#include <metal_stdlib>
using namespace metal;

using null = decltype(nullptr);

static null counted(thread int& a) {
    a += 10;
    return nullptr;
}

static int next(thread int& a) {
    a += 1;
    return a;
}

static int is_null(const thread int* p) { return p == nullptr; }

struct Holder {
    thread int* pointer;
    int value;
};

kernel void null_pointers(device int* out [[buffer(0)]]) {
    int a = 0, n = 0;
    thread int* p = &a;
    p = (a = 5, nullptr);
    out[n++] = a;
    out[n++] = p == nullptr;
    p = &a;
    p = true ? (a++, nullptr) : p;
    out[n++] = a;
    p = counted(a);
    out[n++] = a;
    thread int* q = (a += 2, nullptr);
    out[n++] = a + (q == nullptr);
    out[n++] = p == (a++, nullptr);
    out[n++] = (a++, nullptr) != p;
    out[n++] = (a++, nullptr) == (a++, nullptr);
    out[n++] = a;
    bool flag(counted(a));
    out[n++] = a + flag;
    if (counted(a)) out[n++] = -1;
    out[n++] = !counted(a);
    out[n++] = a;
    out[n++] = is_null(counted(a)) + a;
    Holder holder = {(a++, nullptr), a};
    out[n++] = holder.value;
    thread int* both[2] = {counted(a), &a};
    out[n++] = *both[1] + (both[0] == nullptr);
    q = (thread int*)counted(a);
    q = static_cast<thread int*>((a++, nullptr));
    out[n++] = a;
    auto nothing = (a++, nullptr);
    q = nothing;
    out[n++] = a + is_null(q);
    out[n++] = (counted(a), 0) + a;
    int b = 0;
    thread int* r = a ? counted(b) : &a;
    out[n++] = b + (r == nullptr);
}

struct Pair {
    int values[4];
};

static Pair made(thread int& a) {
    a += 3;
    return Pair{{a, a, a, a}};
}

kernel void discarded(device int* out [[buffer(0)]]) {
    int a = 0, n = 0;
    (void)next(a);
    out[n++] = a;
    static_cast<void>(a++);
    void(a++);
    out[n++] = a;
    made(a);
    out[n++] = a;
    made(a).values;
    made(a).values[next(a) & 3];
    out[n++] = a;
    Pair pairs[2] = {};
    pairs[next(a) & 1];
    out[n++] = a;
    (a++, pairs)[0] = made(a);
    out[n++] = pairs[0].values[0];
    0 * next(a);
    next(a) & 0;
    out[n++] = a;
    const thread int& b = (a++, a);
    out[n++] = b;
    (a++, b);
    out[n++] = b;
    a > 0 ? (void)next(a) : (void)(a = -1);
    out[n++] = a;
    const int five = (a++, 5);
    out[n++] = a + five;
    for (int i = 0; i < 3; i++, next(a)) {}
    out[n++] = a;
    made(a), made(a);
    out[n++] = a;
    thread int* p = &a;
    *p++;
    out[n++] = p - &a;
    Pair copy = (a++, pairs[0]);
    out[n++] = copy.values[0] + a;
    copy = true ? (a++, pairs[1]) : pairs[0];
    out[n++] = copy.values[0] + a;
}

kernel void known_results(device int* out [[buffer(0)]], constant int& zero [[buffer(1)]]) {
    int a = 0, n = 0;
    out[n++] = 0 * next(a) + a;
    out[n++] = (next(a) & 0) + a;
    out[n++] = (next(a) && false) + a;
    out[n++] = (next(a) || true) + a;
    out[n++] = (false && next(a)) + a;
    out[n++] = (true || next(a)) + a;
    out[n++] = (next(a), true) ? a : -1;
    out[n++] = (next(a), false) ? -1 : a;
    out[n++] = next(a) - a;
    out[n++] = (next(a) ? 7 : 7) + a;
    out[n++] = next(a) % 1 + a;
    out[n++] = (uint(next(a)) < 0u) + a;
    out[n++] = (uint(next(a)) >= 0u) + a;
    if (next(a), 0) out[n++] = -1;
    if ((a++, 1)) out[n++] = a;
    while ((a++, false)) {}
    out[n++] = a;
    switch (next(a), 2) {
    case 2: out[n++] = a; break;
    default: out[n++] = -1;
    }
    out[n++] = true ? next(a) : next(a) + 100;
    out[n++] = false ? next(a) : next(a) + 100;
    out[n++] = (zero && next(a)) + a;
    out[n++] = (!zero || next(a)) + a;
    int array[4] = {1, 2, 3, 4};
    out[n++] = array[(next(a), 2)] + a;
    out[n++] = (next(a), array)[1] + a;
}

kernel void unevaluated(device int* out [[buffer(0)]]) {
    int a = 0, n = 0;
    out[n++] = sizeof(a++) + sizeof(next(a)) + sizeof(made(a));
    decltype(a++) b = 1;
    decltype((a++, made(a))) c = {{1, 2, 3, 4}};
    out[n++] = a + b + c.values[3];
    out[n++] = alignof(decltype(next(a)));
    using type = decltype(next(a) + 1L);
    out[n++] = sizeof(type) + a;
    out[n++] = sizeof(made(a).values) / sizeof(made(a).values[next(a)]);
    out[n++] = a;
}

struct Counter {
    int count;
    enum { seven = 7 };
    static constexpr constant int eight = 8;
    static int nine() { return 9; }
    thread Counter& step() {
        count++;
        return *this;
    }
};

static thread Counter* stepped(thread Counter& counter) {
    counter.count += 5;
    return &counter;
}

kernel void static_members(device int* out [[buffer(0)]]) {
    Counter counter = {0};
    int n = 0;
    out[n++] = counter.step().seven;
    out[n++] = counter.count;
    out[n++] = stepped(counter)->eight;
    out[n++] = counter.count;
    out[n++] = counter.step().nine() + stepped(counter)->nine();
    out[n++] = counter.count;
    out[n++] = (counter.count++, counter).seven + (counter.count++, counter).eight;
    out[n++] = counter.count;
}

static int second(int, int b = 20) { return b; }
static int of_reference(const thread int& value = 30) { return value; }

kernel void arguments(device int* out [[buffer(0)]]) {
    int a = 0, n = 0;
    out[n++] = second(next(a));
    out[n++] = a;
    out[n++] = second((a++, 1), (a++, 2));
    out[n++] = a;
    out[n++] = of_reference() + of_reference((a++, 5)) + of_reference((next(a), a));
    out[n++] = a;
    auto ignored = [&](int) { return 4; };
    out[n++] = ignored(next(a)) + a;
    auto counts = [value = next(a)](int) { return value; };
    out[n++] = counts(next(a)) + a;
}
