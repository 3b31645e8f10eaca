// Operators of classes, conversions and calls through them: which function is called, in which order, on which object.
//! covers: C++ over.oper, C++ over.match, C++ class.conv, C++ class.mfct, C++ expr.cast, C++ intro.execution
//! oracle: clang
//! kernel: calls
//! threads: 40
//! group: 40
//! arg 0: i32 0*800
//! arg 1: i32 0
//! expect 0: i32 14 11024 337 282 42 2007 200212 25009 10021 13221 321213 2211 6 132460 1200 2 47065 70989 1 102001 49 12026 340 593 43 3007 300312 25013 10031 13221 321213 2412 6 132460 1211 6 47084 70995 3030 102004 84 13028 343 904 42 4007 400412 25017 10041 13221 321213 2613 6 132460 1222 10 47103 71001 6059 102007 119 14030 346 1215 42 5007 500512 25021 10051 13221 321213 2814 6 132460 1200 14 47122 71007 9088 102010 154 15032 349 1526 46 6007 600612 25025 10061 13221 321213 3015 6 132460 1211 18 47141 71013 12117 102013 189 16034 352 1837 54 7007 712 25029 10071 13221 321213 3216 6 132460 1222 22 47160 71019 15146 102016 224 17036 355 2148 38 8007 100812 25033 10081 13221 321213 3417 6 132460 1200 26 47179 71025 18175 102019 259 18038 358 2459 38 9007 200912 25037 10091 13221 321213 3618 6 132460 1211 30 47198 71031 21204 102022 294 19040 361 2770 46 10007 301012 25041 10101 13221 321213 3819 6 132460 1222 34 47217 71037 24233 102025 329 20042 364 3081 46 11007 401112 25045 10111 13221 321213 4020 6 132460 1200 38 47236 71043 27262 102028 364 21044 367 3392 46 12007 501212 25049 10121 13221 321213 4221 6 132460 1211 42 47255 71049 30291 102031 399 22046 370 3703 46 13007 601312 25053 10131 13221 321213 4422 6 132460 1222 46 47274 71055 33320 102034 434 23048 373 4014 46 14007 1412 25057 10141 13221 321213 4623 6 132460 1200 50 47293 71061 36349 102037 469 24050 376 4325 46 15007 101512 25061 10151 13221 321213 4824 6 132460 1211 54 47312 71067 39378 102040 504 25052 379 4636 46 16007 201612 25065 10161 13221 321213 5025 6 132460 1222 58 47331 71073 42407 102043 539 26054 382 4947 54 17007 301712 25069 10171 13221 321213 5226 6 132460 1200 62 47350 71079 45436 102046 574 27056 385 5258 38 18007 401812 25073 10181 13221 321213 5427 6 132460 1211 66 47369 71085 48465 102049 609 28058 388 5569 38 19007 501912 25077 10191 13221 321213 5628 6 132460 1222 70 47388 71091 51494 102052 644 29060 391 5880 46 20007 602012 25081 10201 13221 321213 5829 6 132460 1200 74 47407 71097 54523 102055 679 30062 394 6191 46 21007 2112 25085 10211 13221 321213 6030 6 132460 1211 78 47426 71103 57552 102058 714 31064 397 6502 46 22007 102212 25089 10221 13221 321213 6231 6 132460 1222 82 47445 71109 60581 102061 749 32066 400 6813 46 23007 202312 25093 10231 13221 321213 6432 6 132460 1200 86 47464 71115 63610 1001034 784 33068 403 7124 46 24007 302412 25097 10241 13221 321213 6633 6 132460 1211 90 47483 71121 66639 1001037 819 34070 406 7435 46 25007 402512 25101 10251 13221 321213 6834 6 132460 1222 94 47502 71127 69668 1001040 854 35072 409 7746 46 26007 502612 25105 10261 13221 321213 7035 6 132460 1200 98 47521 71133 72697 1001043 889 36074 412 8057 54 27007 602712 25109 10271 13221 321213 7236 6 132460 1211 102 47540 71139 75726 1001046 924 37076 415 8368 38 28007 2812 25113 10281 13221 321213 7437 6 132460 1222 106 47559 71145 78755 1001049 959 38078 418 8679 38 29007 102912 25117 10291 13221 321213 7638 6 132460 1200 110 47578 71151 81784 1001052 994 39080 421 8990 46 30007 203012 25121 10301 13221 321213 7839 6 132460 1211 114 47597 71157 84813 1001055 1029 40082 424 9301 46 31007 303112 25125 10311 13221 321213 8040 6 132460 1222 118 47616 71163 87842 1001058 1064 41084 427 9612 46 32007 403212 25129 10321 13221 321213 8241 6 132460 1200 122 47635 71169 90871 1001061 1099 42086 430 9923 46 33007 503312 25133 10331 13221 321213 8442 6 132460 1211 126 47654 71175 93900 1011064 1134 43088 433 10234 46 34007 603412 25137 10341 13221 321213 8643 6 132460 1222 130 47673 71181 96929 1011067 1169 44090 436 10545 46 35007 3512 25141 10351 13221 321213 8844 6 132460 1200 134 47692 71187 99958 1011070 1204 45092 439 10856 46 36007 103612 25145 10361 13221 321213 9045 6 132460 1211 138 47711 71193 102987 1011073 1239 46094 442 11167 54 37007 203712 25149 10371 13221 321213 9246 6 132460 1222 142 47730 71199 106016 1011076 1274 47096 445 11478 38 38007 303812 25153 10381 13221 321213 9447 6 132460 1200 146 47749 71205 109045 1011079 1309 48098 448 11789 38 39007 403912 25157 10391 13221 321213 9648 6 132460 1211 150 47768 71211 112074 1011082 1344 49100 451 12100 46 40007 504012 25161 10401 13221 321213 9849 6 132460 1222 154 47787 71217 115103 1011085 1379 50102 454 12411 46 41007 604112 25165 10411 13221 321213 10050 6 132460 1200 158 47806 71223 118132 1011088

#include <metal_stdlib>
using namespace metal;

struct Num {
    int v;
    Num() : v(0) {}
    Num(int x) : v(x) {}
    explicit Num(float f) : v(int(f * 10)) {}
    Num operator+(Num o) const { return Num(v + o.v); }
    Num operator-() const { return Num(-v); }
    thread Num& operator+=(int k) thread { v += k; return *this; }
    thread Num& operator++() thread { v++; return *this; }
    Num operator++(int) thread { Num old = *this; v += 100; return old; }
    int operator[](int k) const { return v * 2 + k; }
    thread int& operator[](uint k) thread { return v; }
    int operator()() const { return v; }
    int operator()(int a, int b = 3) const { return v + a * b; }
    bool operator!() const { return v == 3; }
    int operator,(Num o) const { return v * 1000 + o.v; }
    Num operator*(int k) const { return Num(v * k); }
    bool operator<(Num o) const { return v % 10 < o.v % 10; }
    explicit operator bool() const { return v > 5; }
    operator float() const { return v + 0.25f; }
};
static Num operator*(int k, Num n) { return Num(n.v * k + 1); }
static bool operator==(Num a, Num b) { return a.v % 10 == b.v % 10; }
static Num operator<<(Num a, int k) { return Num(a.v * 10 + k); }
static Num operator~(Num a) { return Num(a.v ^ 7); }
static Num operator%(Num a, Num b) { return Num(b.v ? a.v % b.v : -1); }

struct Inner { int x; int twice() const { return x * 2; } };
struct Arrow { Inner in; thread Inner* operator->() thread { in.x++; return &in; } };
struct Outer { Arrow a; thread Arrow& operator->() thread { a.in.x += 10; return a; } thread Inner& operator*() thread { return a.in; } };

struct FromInt { int v; FromInt(int x) : v(x) {} };
struct FromNum { int v; FromNum(Num n) : v(n.v + 1000) {} };
static int take(FromInt) { return 1; }
static int take(FromNum n) { return n.v; }
static int kind(float) { return 1; }
static int kind(long) { return 2; }
static int kind2(float, int) { return 1; }
static int kind2(int, float) { return 2; }
static int kind2(int, int) { return 3; }
template <typename T> static int kind3(T) { return 1; }
template <typename T> static int kind3(T thread*) { return 2; }
static int kind3(int) { return 3; }
template <typename A, typename B> static int kind4(A, B) { return 1; }
template <typename A> static int kind4(A, A) { return 2; }
template <typename A> static int kind4(A, int) { return 3; }
struct Tag { int operator&() const { return 5; } };

static const thread Num& as_const(const thread Num& n) { return n; }
struct Mix {
    int v;
    int operator+(int k) const { return v + k; }
    int operator-(float f) const { return 1000 + v + int(f); }
    explicit operator bool() const { return v > 20; }
    explicit operator int() const { return v * 3; }
    operator float() const { return v + 0.5f; }
};
static int operator+(Mix a, float f) { return 2000 + a.v + int(f * 4); }
static int operator+(Mix a, long l) { return 3000 + a.v + int(l); }
static int operator-(int k, Mix a) { return 4000 + k - a.v; }
template <typename T> static int operator-(Mix a, T k) { return 5000 + a.v - int(k); }
static int truth(bool b) { return b ? 100 : 200; }
static int truth(float f) { return int(f * 2); }
static int step(thread int& t, int k) { t = t * 10 + k; return k; }
static Num made(thread int& t, int k) { t = t * 10 + k; return Num(k); }

kernel void calls(device int* out [[buffer(0)]], constant int& x [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    int n = int(i) + x, t = 0;
    device int* o = out + 20 * i;
    Num a(n), b = 7;
    o[0] = (a + b).v + (-a).v * 2 + (a * 3).v * 5 + (3 * a).v * 7;
    (a += 5) += 6;
    o[1] = a.v * 1000 + (++a).v + (a++).v;
    o[2] = as_const(a)[1] + a.v;
    a[1u] = n + 2;
    o[3] = a() + a(2) * 10 + a(2, n) * 100;
    o[4] = !a + 2 * bool(b) + 4 * (a ? 1 : 0) + 8 * (a < b) + 16 * (a == b) + 32 * (Num(13) == Num(3));
    o[5] = (a, b);
    o[6] = (a << 1 << 2).v + (~b).v + (a % b).v * 100000;
    o[7] = int(float(a) * 4) + Num(2.5f).v * 1000;
    o[8] = take(a) * 10 + take(4);
    o[9] = kind(1.0f) + kind(2l) * 10 + kind2(1, 2.0f) * 100 + kind2(1, 2) * 1000 + kind2(1.0f, 2) * 10000;
    o[10] = kind3(1) + kind3('a') * 10 + kind3(&n) * 100 + kind4(1, 2.0f) * 1000 + kind4(2.0f, 1.0f) * 10000 + kind4(2.0f, 1) * 100000;
    Outer outer = {{{n}}};
    o[11] = outer->twice() * 100 + (*outer).x;
    o[12] = &Tag() + (step(t, 1) || step(t, 2)) + (step(t, 0) && step(t, 3));
    t = 0;
    Num left = made(t, 1);
    left[uint(step(t, 2))] = step(t, 3) + left.v;
    (made(t, 4) << step(t, 5)) << step(t, 6);
    o[13] = t % 1000000 + left.v;
    t = 0;
    int list[] = {step(t, 1), step(t, 2), step(t, n % 3)};
    o[14] = t * 10 + list[2];
    const Num fixed(n);
    o[15] = fixed[1u] + fixed[1];
    Mix mix = {n};
    o[16] = (mix + 1) + (mix + 1.5f) * 7 + (mix + 2l) * 11;
    o[17] = (mix - 1.0f) + (mix - 1) * 3 + (1 - mix) * 5 + (mix - short(2)) * 7;
    int direct(mix);
    int braced{(int)mix};
    o[18] = direct + braced * 1000 + int(mix) + static_cast<int>(mix) * 7 + int(float(mix) * 2);
    o[19] = truth(mix) + (mix ? 1000 : 2000) + (mix && n > 30 ? 10000 : 0) + !mix * 100000 + bool(mix) * 1000000;
    while (mix) mix.v -= 30;
    o[19] += mix.v;
}
