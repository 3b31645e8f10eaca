// Templates, constant expressions and lambdas whose results depend on the lane.
//! covers: C++ temp.variadic, C++ temp.class.spec, C++ temp.deduct, C++ temp.arg.nontype, C++ dcl.constexpr, C++ expr.prim.lambda, C++ expr.prim.fold
//! oracle: clang
//! kernel: results
//! threads: 40
//! group: 40
//! arg 0: i32 0*640
//! arg 1: i32 0
//! expect 0: i32 1036765 981375 3011 26 2 90000 120 3003141 -49696 1203 -5005 9 -295856 1386 2402976 20400 1036766 981375 3011 26 4 6001 130 3003142 -39594 1211 -2001 109 -195696 1436 2403008 20400 1036767 981375 3011 26 6 6007 150 3003143 -29492 1219 1003 309 -95536 1486 2403140 40400 1036768 981375 3011 26 8 18002 180 3003144 -19390 1227 4007 409 4624 1536 2403172 20400 1036769 981375 3011 26 10 6005 220 3003145 -9288 1235 7011 609 104784 1586 2403304 20800 1036770 981375 3011 26 12 30008 270 3003146 814 1243 10015 709 204944 1636 2403336 20400 1036771 981375 3011 26 14 18016 330 3003147 10916 1251 13019 909 305104 1686 2403468 20406 1036772 981375 3011 26 16 6003 400 3003148 21018 1259 16023 1009 405264 1736 2403500 20400 1036773 981375 3011 26 18 6019 480 3003149 31120 1267 19027 1209 505424 1786 2403632 100400 1036774 981375 3011 26 20 18006 570 3003150 41222 1275 22031 1309 605584 1836 2403664 20400 1036775 981375 3011 26 22 30014 670 3003151 51324 1283 25035 1509 705744 1886 2403796 21400 1036776 981375 3011 26 24 6009 780 3003152 61426 1291 28039 1609 805904 1936 2403828 20400 1036777 981375 3011 26 26 18009 900 3003153 71528 1299 31043 1809 906064 1986 2403960 20412 1036778 981375 3011 26 28 6017 1030 3003154 81630 1307 34047 1909 1006224 2036 2403992 20400 1036779 981375 3011 26 30 6017 1170 3003155 91732 1315 37051 2109 1106384 2086 2404124 160400 1036780 981375 3011 26 32 90004 1320 3003156 101834 1323 40055 2209 1206544 2136 2404156 20400 1036781 981375 3011 26 34 6012 120 3003157 111936 1331 43059 2409 1306704 2186 2404288 22000 1036782 981375 3011 26 36 6020 130 3003158 122038 1339 46063 2509 1406864 2236 2404320 20400 1036783 981375 3011 26 38 18020 150 3003159 132140 1347 49067 2709 1507024 2286 2404452 20418 1036784 981375 3011 26 40 6007 180 3003160 142242 1355 52071 2809 1607184 2336 2404484 20400 1036785 981375 3011 26 42 30007 220 3003161 152344 1363 55075 3009 1707344 2386 2404616 220400 1036786 981375 3011 26 44 18015 270 3003162 162446 1371 58079 3109 1807504 2436 2404648 20400 1036787 981375 3011 26 46 6015 330 3003163 172548 1379 61083 3309 1907664 2486 2404780 22600 1036788 981375 3011 26 48 6010 400 3003164 182650 1387 64087 3409 2007824 2536 2404812 20400 1036789 981375 3011 26 50 18023 480 3003165 192752 1395 67091 3609 2107984 2586 2404944 20424 1036790 981375 3011 26 52 30010 570 3003166 202854 1403 70095 3709 2208144 2636 2404976 20400 1036791 981375 3011 26 54 6111 670 3003167 212956 1411 73099 3909 2308304 2686 2405108 280400 1036792 981375 3011 26 56 18018 780 3003168 223058 1419 76103 4009 2408464 2736 2405140 20400 1036793 981375 3011 26 58 6018 900 3003169 233160 1427 79107 4209 2508624 2786 2405272 23200 1036794 981375 3011 26 60 6018 1030 3003170 243262 1435 82111 4309 2608784 2836 2405304 20400 1036795 981375 3011 26 62 90106 1170 3003171 253364 1443 85115 4509 2708944 2886 2405436 20430 1036796 981375 3011 26 64 6005 1320 3003172 263466 1451 88119 4609 2809104 2936 2405468 20400 1036797 981375 3011 26 66 6026 120 3003173 273568 1459 91123 4809 2909264 2986 2405600 340400 1036798 981375 3011 26 68 18013 130 3003174 283670 1467 94127 4909 3009424 3036 2405632 20400 1036799 981375 3011 26 70 6013 150 3003175 293772 1475 97131 5109 3109584 3086 2405764 23800 1036800 981375 3011 26 72 30021 180 3003176 303874 1483 100135 5209 3209744 3136 2405796 20400 1036801 981375 3011 26 74 18021 220 3003177 313976 1491 103139 5409 3309904 3186 2405928 20436 1036802 981375 3011 26 76 6021 270 3003178 324078 1499 106143 5509 3410064 3236 2405960 20400 1036803 981375 3011 26 78 6034 330 3003179 334180 1507 109147 5709 3510224 3286 2406092 400400 1036804 981375 3011 26 80 18008 400 3003180 344282 1515 112151 5809 3610384 3336 2406124 20400

#include <metal_stdlib>
using namespace metal;

template <int N> struct Fib { static constexpr constant int value = Fib<N - 1>::value + Fib<N - 2>::value; };
template <> struct Fib<1> { static constexpr constant int value = 1; };
template <> struct Fib<0> { static constexpr constant int value = 0; };
template <typename T, T... V> struct List { static constexpr int sum() { return (int(V) + ... + 0); } template <T W> using Add = List<T, V..., W>; };
template <uchar U> struct Byte { static constexpr int get() { return U; } };
template <bool B, char C = 'x'> struct Flag { static constexpr int get() { return B * 1000 + C; } };
template <typename T> struct Depth { static constexpr int get() { return 0; } };
template <typename T> struct Depth<thread T*> { static constexpr int get() { return 1 + Depth<T>::get(); } };
template <typename T> struct Depth<const T> { static constexpr int get() { return 10 + Depth<T>::get(); } };
template <typename T, int N> struct Depth<T[N]> { static constexpr int get() { return 100 * N + Depth<T>::get(); } };
template <typename R, typename... A> struct Depth<R(A...)> { static constexpr int get() { return 1000 * sizeof...(A) + Depth<R>::get(); } };
template <typename T, int N> struct Sized { static constexpr int get() { return sizeof(T) * N; } };
template <typename D> struct Curious { int twice() const { return static_cast<const thread D*>(this)->value() * 2; } };
struct Derived : Curious<Derived> { int v; int value() const { return v + 1; } };
constexpr int gcd(int a, int b) { while (b) { int t = a % b; a = b; b = t; } return a; }
constexpr int collatz(long n) { int k = 0; for (; n != 1; ++k) n = n & 1 ? 3 * n + 1 : n / 2; return k; }
struct Table { int v[16]; constexpr Table() : v() { for (int k = 0; k < 16; k++) v[k] = k * k - (k ? v[k - 1] : 0); } };
constant constexpr Table table = Table();
template <typename T> constexpr constant T pi = T(3.14159265f);
template <typename F, typename... A> static int apply(F f, A... a) { return f(a...); }
template <typename... A> static int count(A... a) { int s = 0; int all[] = {int(a)..., 0}; for (int v : all) s = s * 2 + v; return s * 10 + sizeof...(a); }
template <typename H> static int nest(H h) { return h; }
template <typename H, typename... R> static int nest(H h, R... r) { return h - nest(r...); }
template <int... K> static int picked(const thread int* a) { int s = 0; ((s = s * 7 + a[K]), ...); return s; }
template <typename R, typename... A> static int arity(R (*)(A...)) { return sizeof...(A); }
template <typename R, typename... A> static int invoke(R (*f)(A...), A... a) { return f(a...) * 10 + sizeof...(A); }
static int two(int a, char b) { return a + b; }
static int none() { return 6; }
template <typename T> static auto half_of(T v) -> decltype(v / 2) { return v / 2; }
static_assert(collatz(27) == 111, "");

kernel void results(device int* out [[buffer(0)]], constant int& x [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    int n = int(i) + x;
    device int* o = out + 16 * i;
    o[0] = Fib<20>::value + List<char, 'a', 2, -3>::Add<7>::sum() * 10000 + n;
    o[1] = Byte<255>::get() + Flag<(3 > 2)>::get() + Flag<false, 'b'>::get() * 10000;
    o[2] = Depth<thread int*>::get() + Depth<const thread int*>::get() * 10 + Depth<int[4][5]>::get() + Depth<float(int, char)>::get();
    o[3] = Sized<long, 3>::get() + Sized<char, 2>::get();
    Derived d; d.v = n;
    o[4] = d.twice();
    o[5] = gcd(n * 12, 90) * 1000 + collatz(n + 1);
    o[6] = table.v[n % 16] * 10 + table.v[15];
    o[7] = pi<int> * 1000000 + int(pi<float> * 1000) + n;
    int captured = n;
    auto by_value = [captured](int k) mutable { captured += k; return captured; };
    auto by_reference = [&](int k) { captured -= k; return captured; };
    o[8] = by_value(1) + by_value(2) * 100 + by_reference(5) * 10000 + by_value(0);
    auto generic = [&, twice = n * 2](auto a, auto... rest) { return int(a * 2) + int(sizeof...(rest)) * 100 + twice; };
    o[9] = generic(1.75f) + generic(char(100), 1, 2) * 3;
    auto maker = [=](int k) { return [=](int m) { return m * k + captured; }; };
    o[10] = maker(3)(n) + apply(maker(n), 2) * 1000;
    auto recursive = [](auto self, int k) -> int { return k < 2 ? k : self(self, k - 1) + 2; };
    o[11] = recursive(recursive, 5) + apply([](int a, float b) { return int(a * b); }, n, 1.5f) * 100;
    o[12] = count(n, 2.9f, 'c', true) + nest(n, 2, 3, 4) * 100000;
    int values[5] = {n, 1, 2, 3, 4};
    o[13] = picked<4, 0, 2, 0>(values);
    o[14] = half_of(n) * 100 + int(half_of(n * 1.0f) * 4) % 100 + sizeof(half_of(char(1))) * 100000;
    o[14] += arity(two) * 1000000 + arity(none) * 10000000 + invoke(two, n, 'a') * 3 + invoke(none);
    int sums[3] = {};
    for (auto v : values) [&] { if (v % 2) return; sums[v % 3] += v; }();
    o[15] = sums[0] + sums[1] * 100 + sums[2] * 10000;
}
