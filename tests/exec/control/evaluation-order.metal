// The order in which operands, arguments and the clauses of lists are evaluated, each once.
//! covers: C++ intro.execution, C++ expr.ass, C++ dcl.init.list, C++ class.init
//! oracle: clang
//! kernel: order
//! arg 0: i32 0*64
//! expect 0: i32 2 123 123 123 0 134 7 12 1 1234 12 1234 3 123 6 123 0 123 9 1245 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
//! kernel: lists
//! arg 0: i32 0*64
//! expect 0: i32 4 -1 -1 1234567 1004 1234 6 1234 123 43 348 56 12 6 1234 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
//! kernel: places
//! arg 0: i32 0*64
//! expect 0: i32 7 21 8 213 18 321 1 6 0 9 12 12 1211 13 21 21 39 321 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0

#include <metal_stdlib>
using namespace metal;

struct Log {
    int digits;
    int operator()(int digit, int value) {
        digits = digits * 10 + digit;
        return value;
    }
};

static int three(int a, int b, int c) { return a * 100 + b * 10 + c; }

struct Number {
    int value;
    Number operator+(Number other) const { return {value + other.value}; }
    Number operator[](int n) const { return {value + n}; }
    int operator()(int a, int b) const { return value + a - b; }
};

kernel void order(device int* out [[buffer(0)]]) {
    int n = 0;
    Log log = {0};
    out[n++] = log(1, 5) - log(2, 3) * log(3, 1);
    out[n++] = log.digits;
    log.digits = 0;
    out[n++] = three(log(1, 1), log(2, 2), log(3, 3));
    out[n++] = log.digits;
    log.digits = 0;
    out[n++] = log(1, 0) && log(2, 1) || log(3, 1) && log(4, 0);
    out[n++] = log.digits;
    log.digits = 0;
    out[n++] = log(1, 1) ? log(2, 7) : log(3, 8);
    out[n++] = log.digits;
    log.digits = 0;
    out[n++] = (log(1, 1) < log(2, 2)) == (log(3, 3) < log(4, 4));
    out[n++] = log.digits;
    log.digits = 0;
    out[n++] = log(1, 1) << log(2, 2) | log(3, 64) >> log(4, 3);
    out[n++] = log.digits;
    log.digits = 0;
    out[n++] = (log(1, 1), log(2, 2), log(3, 3));
    out[n++] = log.digits;
    log.digits = 0;
    out[n++] = (Number{log(1, 1)} + Number{log(2, 2)})[log(3, 3)].value;
    out[n++] = log.digits;
    log.digits = 0;
    out[n++] = Number{log(1, 1)}(log(2, 2), log(3, 3));
    out[n++] = log.digits;
    log.digits = 0;
    auto lambda = [&](int a, int b) { return log(a, b) + log(b, a); };
    out[n++] = lambda(log(1, 4), log(2, 5));
    out[n++] = log.digits;
}

struct Pair {
    int a, b;
};

struct Made {
    int a, b;
    Made(int x, int y) : a(x), b(y) {}
};

struct Ordered {
    int first;
    int second = first + 1;
    int third;
    Ordered(int x) : first(x), third(second * 2) {}
};

struct Base {
    int base;
    Base(int x) : base(x) {}
};

struct Derived : Base {
    int own;
    Derived(thread Log& log) : Base(log(1, 5)), own(log(2, base + 1)) {}
};

kernel void lists(device int* out [[buffer(0)]]) {
    int n = 0;
    Log log = {0};
    int array[3] = {log(1, 1), log(2, 2), log(3, 3)};
    out[n++] = array[0] + array[2];
    Pair pair = {log(4, 4), log(5, 5)};
    out[n++] = pair.a - pair.b;
    Made made{log(6, 6), log(7, 7)};
    out[n++] = made.a - made.b;
    out[n++] = log.digits;
    log.digits = 0;
    int4 vector = {log(1, 1), log(2, 2), log(3, 3), log(4, 4)};
    out[n++] = vector.x * 1000 + vector.w;
    out[n++] = log.digits;
    log.digits = 0;
    Pair pairs[2] = {log(1, 1), log(2, 2), {log(3, 3), log(4, 4)}};
    out[n++] = pairs[1].b + pairs[0].b;
    out[n++] = log.digits;
    log.digits = 0;
    int i = 0;
    int stepped[4] = {i++, i++, i++, i};
    out[n++] = stepped[0] * 1000 + stepped[1] * 100 + stepped[2] * 10 + stepped[3];
    Pair related = {i++, i * 10};
    out[n++] = related.a + related.b;
    Ordered ordered(3);
    out[n++] = ordered.first * 100 + ordered.second * 10 + ordered.third;
    Derived derived(log);
    out[n++] = derived.base * 10 + derived.own;
    out[n++] = log.digits;
    log.digits = 0;
    int a = log(1, 1), b = log(2, a + 1), c[2] = {log(3, b), log(4, a)};
    out[n++] = a + b + c[0] + c[1];
    out[n++] = log.digits;
}

kernel void places(device int* out [[buffer(0)]]) {
    int n = 0;
    Log log = {0};
    int array[4] = {0, 0, 0, 0};
    array[log(1, 2)] = log(2, 7);
    out[n++] = array[2];
    out[n++] = log.digits;
    log.digits = 0;
    array[log(1, 1)] += log(2, 7);
    array[log(3, 1)]++;
    out[n++] = array[1];
    out[n++] = log.digits;
    log.digits = 0;
    array[log(1, 0)] = array[log(2, 3)] = log(3, 9);
    out[n++] = array[0] + array[3];
    out[n++] = log.digits;
    log.digits = 0;
    int i = 0;
    i = i++ + 1;
    out[n++] = i;
    int j = 1;
    array[j] = j = 3;
    out[n++] = array[3] + j;
    j = 0;
    array[j++] = j;
    out[n++] = array[0];
    out[n++] = array[1] + j;
    int k = 5;
    k += k++ + 1;
    out[n++] = k;
    k = 2;
    k *= (k = 3) + 1;
    out[n++] = k;
    thread int* p = array;
    *p++ = 11;
    *p++ = *array + 1;
    out[n++] = array[0] + array[1] * 100;
    *--p = 13;
    out[n++] = array[1];
    (log(1, 1) ? array[2] : array[3]) = log(2, 21);
    out[n++] = array[2];
    out[n++] = log.digits;
    log.digits = 0;
    ((log(1, 1), array[0]) += log(2, 2)) *= log(3, 3);
    out[n++] = array[0];
    out[n++] = log.digits;
}
