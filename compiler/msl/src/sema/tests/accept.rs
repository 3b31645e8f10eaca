//! Programs that must check. Most prove what they compute by `static_assert`.

use super::accept;

#[test]
fn arithmetic_conversions() {
    accept(
        "static_assert(is_same_v<decltype(char(1) + char(1)), int>);
         static_assert(is_same_v<decltype(1u + 1), uint>);
         static_assert(is_same_v<decltype(1l + 1u), long>);
         static_assert(is_same_v<decltype(ushort(1) * 1), int>);
         static_assert(is_same_v<decltype(half(1) * 2), half>);
         static_assert(is_same_v<decltype(half(1) * 2.0f), float>);
         static_assert(is_same_v<decltype(1.0 + 1), float>);
         static_assert(is_same_v<decltype(1.0h), half>);
         static_assert(is_same_v<decltype(bfloat(1) + bfloat(1)), bfloat>);
         static_assert(is_same_v<decltype(float4(1) * 2), float4>);
         static_assert(is_same_v<decltype(int3(1) < int3(2)), bool3>);
         static_assert(is_same_v<decltype(true ? 1 : 2.0f), float>);
         static_assert(is_same_v<decltype(0x80000000), uint>);
         static_assert(is_same_v<decltype(2147483648), long>);
         static_assert(-7 / 2 == -3 && -7 % 2 == -1 && (7 >> 1) == 3 && (-8 >> 1) == -4);
         static_assert(uchar(300) == 44 && char(200) == -56);
         static_assert(int(3.9f) == 3 && int(-3.9f) == -3);
         static_assert(1.0h / 3.0h == half(1.0f / 3.0f));",
    );
}

#[test]
fn a_variable_of_the_program_hides_a_type_of_the_library() {
    accept(
        "#include <metal_stdlib>
         using namespace metal;
         constant int bias = 3;
         static_assert(bias + 1 == 4);
         struct pair { int a; };
         constant int pair = 2;
         static_assert(pair == 2 && sizeof(struct pair) == 4);",
    );
}

#[test]
fn layouts() {
    accept(
        "struct A { char c; float3 v; };
         struct B { char c; packed_float3 v; };
         struct C { half d; uchar qs[16]; };
         struct D { int a; union { struct { half x; half y; }; uint bits; }; };
         struct alignas(16) E { int a; };
         struct Empty {};
         struct F : Empty { int a; };
         static_assert(sizeof(float3) == 16 && alignof(float3) == 16 && sizeof(packed_float3) == 12);
         static_assert(sizeof(A) == 32 && sizeof(B) == 16 && alignof(B) == 4);
         static_assert(sizeof(C) == 18 && sizeof(D) == 8 && sizeof(E) == 16 && sizeof(Empty) == 1);
         static_assert(sizeof(F) == 4);
         static_assert(sizeof(float4x4) == 64 && sizeof(half3x3) == 24 && sizeof(float2x3) == 32);
         static_assert(sizeof(bool) == 1 && sizeof(long) == 8 && sizeof(device int*) == 8);
         static_assert(sizeof(int[3][5]) == 60);",
    );
}

#[test]
fn function_templates() {
    accept(
        "template <typename T> constexpr int kind(T) { return 0; }
         template <typename T> constexpr int kind(thread T*) { return 1; }
         template <typename T, int N> constexpr int kind(vec<T, N>) { return N; }
         constexpr int kind(float) { return 10; }
         static_assert(kind(1) == 0 && kind(1.0f) == 10 && kind(float3(0)) == 3);
         template <typename T, typename U = T> constexpr U to(T x) { return U(x); }
         static_assert(is_same_v<decltype(to<int>(2.0f)), int>);
         static_assert(is_same_v<decltype(to<int, half>(2)), half>);
         template <int N, typename T> constexpr T times(T x) { return x * N; }
         static_assert(times<3>(4) == 12);
         template <int N> constexpr int fact() { if constexpr (N <= 1) return 1; else return N * fact<N - 1>(); }
         static_assert(fact<10>() == 3628800);
         template <typename T, int N> constexpr int count(thread T (&)[N]) { return N; }
         int use() { int a[7]; return count(a); }
         template <typename... Ts> constexpr int arity(Ts...) { return sizeof...(Ts); }
         static_assert(arity() == 0 && arity(1, 2.0f, true) == 3);
         template <typename T> constexpr T sum(T x) { return x; }
         template <typename T, typename... Us> constexpr T sum(T x, Us... us) { return x + sum(us...); }
         static_assert(sum(1, 2, 3, 4) == 10);",
    );
}

#[test]
fn address_spaces_in_deduction() {
    accept(
        "template <typename T> struct space_of { static constexpr constant int value = 0; };
         template <typename T> struct space_of<device T*> { static constexpr constant int value = 1; };
         template <typename T> struct space_of<threadgroup T*> { static constexpr constant int value = 2; };
         template <typename T> struct space_of<constant T*> { static constexpr constant int value = 3; };
         static_assert(space_of<device int*>::value == 1 && space_of<threadgroup float*>::value == 2);
         static_assert(space_of<constant half*>::value == 3 && space_of<thread int*>::value == 0);
         template <typename P> float first(P p) { return p[0]; }
         float f(device const float* a, threadgroup float* b, constant float* c) { return first(a) + first(b) + first(c); }
         float pick(device float* p) { return p[0]; }
         half pick(threadgroup float* p) { return half(p[0]); }
         float g(device float* a, threadgroup float* b) {
             static_assert(is_same_v<decltype(pick(a)), float> && is_same_v<decltype(pick(b)), half>);
             return pick(a) + pick(b);
         }
         template <typename T> void store(device T* p, T x) { *p = x; }
         void h(device float* p) { store(p, 1.0f); }",
    );
}

#[test]
fn class_templates() {
    accept(
        "template <typename T, int N = 2> struct A { T v[N]; static constexpr constant int n = N; };
         template <int N> struct A<half, N> { half2 v; static constexpr constant int n = 100 + N; };
         template <> struct A<bool, 2> { static constexpr constant int n = -1; };
         static_assert(A<int>::n == 2 && A<half, 5>::n == 105 && A<bool>::n == -1);
         static_assert(sizeof(A<int, 3>) == 12);
         template <typename T, typename = void> struct has { static constexpr constant bool value = false; };
         template <typename T> struct has<T, enable_if_t<is_integral_v<T>>> { static constexpr constant bool value = true; };
         static_assert(has<int>::value && !has<float>::value);
         template <typename T> constexpr constant bool is_pair = false;
         template <typename T> constexpr constant bool is_pair<A<T, 2>> = true;
         static_assert(is_pair<A<int>> && !is_pair<A<int, 3>> && !is_pair<int>);
         template <typename T> using Quad = vec<T, 4>;
         static_assert(is_same_v<Quad<half>, half4>);
         template <typename T> struct Outer {
             template <typename U> struct Inner { T t; U u; };
             template <typename U> constexpr int size(U) const { return sizeof(Inner<U>); }
         };
         static_assert(Outer<char>().size(1) == 8);
         template <int D> struct Chain { Chain<D - 1> next; int x; };
         template <> struct Chain<0> {};
         static_assert(sizeof(Chain<3>) == 16);",
    );
}

#[test]
fn classes_with_constructors_and_operators() {
    accept(
        "struct C {
             float re, im;
             constexpr C(float r) : re(r), im(0) {}
             constexpr C(float r, float i) : re(r), im(i) {}
             constexpr operator float() const { return re; }
         };
         constexpr C operator+(C a, C b) { return {a.re + b.re, a.im + b.im}; }
         constexpr C operator*(C a, C b) { return C(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re); }
         constexpr bool operator==(C a, C b) { return a.re == b.re && a.im == b.im; }
         static_assert(C(1, 2) * C(3, 4) == C(-5, 10));
         static_assert((C(1, 2) + C{3, 4}).im == 6);
         struct D { int a = 3; int b = a + 1; };
         constexpr int d() { D x; return x.a * 10 + x.b; }
         static_assert(d() == 34);
         static_assert(D{7}.b == 8);
         struct Acc { int n; thread Acc& operator+=(int k) { n += k; return *this; } int operator()(int x) const { return n + x; } };
         int run() { Acc a{1}; (a += 2) += 3; return a(4) + a.n; }
         struct I { int v[4]; constexpr int operator[](int i) const { return v[i]; } };
         static_assert(I{{1, 2, 3, 4}}[2] == 3);
         struct P { int x; int y; };
         static_assert(P{.y = 5}.y == 5 && P{.x = 1, .y = 2}.x == 1);
         union U { uint2 val; uchar4 bytes[2]; };
         constexpr uchar byte() { U u; u.val = uint2(0x01020304, 5); return u.bytes[0].y; }
         static_assert(byte() == 3);",
    );
}

#[test]
fn constant_evaluation() {
    accept(
        "constexpr int collatz(int n) { int s = 0; while (n != 1) { n = n % 2 ? 3 * n + 1 : n / 2; s++; } return s; }
         static_assert(collatz(27) == 111);
         constexpr int table[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
         constexpr int total() { int t = 0; for (int i = 0; i < 2; ++i) for (auto x : table[i]) t += x; return t; }
         static_assert(total() == 146);
         constexpr int pick(int x) { switch (x) { case 1: case 2: return 12; case 3: x = 9; default: return x; } }
         static_assert(pick(1) == 12 && pick(3) == 9 && pick(7) == 7);
         constexpr float4 swap(float4 v) { v.xy = v.yx; v[3] = 9; return v.wzyx; }
         static_assert(swap(float4(1, 2, 3, 4)).x == 9 && swap(float4(1, 2, 3, 4)).w == 2);
         constexpr void bump(thread int& x) { x += 5; }
         constexpr int bumped() { int a[3] = {1, 2, 3}; bump(a[1]); thread int* p = a; p += 1; return *p + p[1]; }
         static_assert(bumped() == 10);
         enum E { a, b = 10, c };
         enum class S : uchar { x = 3 };
         static_assert(c == 11 && int(S::x) == 3 && sizeof(S) == 1);
         constant int derived = c * 2;
         static_assert(derived == 22);
         static_assert(min(3, 4) == 3 && max(2.0f, 3.0f) == 3.0f && clz(1u) == 31 && popcount(255) == 8);",
    );
}

#[test]
fn names_and_scopes() {
    accept(
        "namespace n { namespace m { constexpr int f() { return 1; } } using namespace m; constexpr int g() { return f(); } }
         static_assert(n::g() == 1 && n::f() == 1);
         namespace { constexpr int hidden() { return 4; } }
         static_assert(hidden() == 4);
         namespace metal { constexpr int added(int x) { return x + 1; } }
         static_assert(added(1) == 2 && metal::added(2) == 3);
         float exp_of(float x) { const int exp = 3; return x * exp; }
         int shadow(int x) { { int x = 2; x++; } for (int x = 0; x < 2; ++x) {} return x; }
         template <typename T> struct Op { T v; };
         float alias() { using Op = Op<float>; Op o{1.0f}; return o.v; }
         struct S { static constexpr constant int n = 4; int f() { return n + helper(); } int helper() { return m; } int m; };
         using n::m::f;
         static_assert(f() == 1);",
    );
}

#[test]
fn function_parameters_of_templates() {
    accept(
        "template <typename T> void load(device const T* p, short i, thread float4& r) { r = float4(p[i]); }
         void load(device const char* p, short i, thread float4& r) { r = float4(p[i]); }
         template <typename B, void (*f)(device const B*, short, thread float4&)> float run(device const B* p) {
             float4 r; f(p, 1, r); return r.x;
         }
         float go(device const half* p, device const char* c) { return run<half, load>(p) + run<char, load>(c); }
         template <int (*F)(int)> constexpr int apply(int x) { return F(x); }
         constexpr int twice(int x) { return 2 * x; }
         static_assert(apply<twice>(4) == 8);",
    );
}

#[test]
fn class_type_template_arguments() {
    accept(
        "struct Shape { int m; int n; };
         template <Shape S> constexpr int area() { return S.m * S.n; }
         static_assert(area<Shape{3, 4}>() == 12);
         template <typename T, T v> struct constant_of { static constexpr constant T value = v; };
         static_assert(constant_of<bool, true>::value && constant_of<ushort, 7>::value == 7);
         template <auto N> constexpr int twice() { return 2 * N; }
         static_assert(twice<21>() == 42);
         template <typename T> struct Pair { T a; T b; Pair(T a, T b) : a(a), b(b) {} };
         int ctad() { auto p = Pair(1, 2); return p.a + p.b; }",
    );
}

#[test]
fn references_in_classes() {
    accept(
        "template <typename T> struct View {
             constant const uint& n; constant const T* p; const uint last;
             T at(uint i) const { return p[min(i, n + last)]; }
         };
         template <typename V> float total(V v) { return v.at(0); }
         kernel void k(constant uint& n, constant float* p, device float* o) {
             View<float> v {n, p, p ? 1u : 2u};
             View<float> w = {n, p, 3};
             o[0] = v.at(1) + total(w) + total(View<float>{n, p, 0});
         }
         struct Looper { int dim; Looper(int d) thread : dim(d) {} void next(int n) thread { dim += n; } };
         template <int D> struct Nest { Nest<D - 1> inner; int d; Nest(int d) : inner(d - 1), d(d) {} };
         template <> struct Nest<1> { Looper l; Nest(int d) : l(d) {} };
         kernel void m(device int* o) { Nest<3> n(5); n.inner.inner.l.next(2); o[0] = n.inner.inner.l.dim; }",
    );
}

#[test]
fn units_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<super::Unit>();
    shared::<super::super::Prelude>();
}

#[test]
fn lambdas_capture_and_deduce() {
    accept(
        "template <typename F> constexpr int call(F f) { return f(3) + f(4); }
         constexpr int sum() { int total = 0; auto add = [&](int x) { total += x; return x; }; add(5); add(6); return total; }
         static_assert(sum() == 11);
         constexpr int k() { int k = 10; return call([=](auto x) { return x * k; }); }
         static_assert(k() == 70);
         struct S { int n; constexpr int f() const { auto g = [&](int x) { return n + x; }; return g(1); } };
         static_assert(S{4}.f() == 5);",
    );
}

#[test]
fn casts_and_pointers() {
    accept(
        "struct Block { half d; uchar q[16]; };
         float f(device const char* p, threadgroup char* shared, uint i) {
             device const Block* b = (device const Block*)(p + 4) + i;
             threadgroup float* a = (threadgroup float*)shared;
             threadgroup half2* h = reinterpret_cast<threadgroup half2*>(a + 8);
             a[0] = b->d; h[1].y = b[1].q[2];
             thread float2 v = 0;
             float4x4 m(1.0f); m[1][2] = 3; m[i] = float4(1);
             (thread half2&)v = half2(1);
             if (!p || a == nullptr || b) return as_type<float>(0x3f800000u);
             size_t distance = b - (device const Block*)p;
             device float* w = (device float*)(device const float*)p;
             return *w + distance + float(h->x) + m[0][0];
         }",
    );
}

#[test]
fn limits_are_generous() {
    // A wide expression and a deep template are fine.
    let terms = vec!["x"; 1000].join(" + ");
    accept(&format!("int f(int x) {{ return {terms}; }}"));
    accept(
        "template <int N> struct D { static constexpr constant int v = D<N - 1>::v + 1; };
            template <> struct D<0> { static constexpr constant int v = 0; };
            static_assert(D<200>::v == 200);",
    );
}

#[test]
fn many_small_things() {
    accept(
        "struct A { int x; constexpr A(int x) : x(x) {} constexpr bool operator<(A o) const { return x < o.x; } };
         constexpr A operator-(A a) { return A(-a.x); }
         constexpr A operator-(A a, A b) { return A(a.x - b.x); }
         static_assert((-A(3)).x == -3 && (A(5) - A(3)).x == 2 && A(1) < A(2));
         struct It { thread int* p; thread It& operator++() thread { ++p; return *this; } int operator*() const { return *p; } };
         int walk() { int a[3] = {1,2,3}; It i{a}; ++i; return *i; }
         template <typename T> struct Vec3 { T v[3]; thread T& operator[](int i) thread { return v[i]; } const thread T& operator[](int i) const thread { return v[i]; } device T& operator[](int i) device { return v[i]; } };
         kernel void k(device Vec3<float>* p, device float* o) { Vec3<float> a = p[0]; a[1] += 2; p[1][2] = a[1]; const Vec3<float> c = a; o[0] = c[0]; o[1] = p->v[1]; }
         constexpr int nested() { struct L { int a; int b; }; L l[2] = {1, 2, 3, 4}; return l[1].a * 10 + l[0].b; }
         static_assert(nested() == 32);
         constexpr int ternary_lvalue() { int a = 1, b = 2; (b > a ? a : b) = 5; return a; }
         template <typename T> constexpr T maxv(T a, T b) { return a < b ? b : a; }
         template <> constexpr float maxv<float>(float a, float b) { return -1; }
         static_assert(maxv(1, 2) == 2 && maxv(1.0f, 2.0f) == -1);
         template <typename T> constexpr T zero = T(0);
         template <> constexpr int zero<int> = 7;
         static_assert(zero<int> == 7 && zero<float> == 0);
         namespace outer { template <typename T> struct X { static constexpr constant int v = 1; }; }
         template <> struct outer::X<int> { static constexpr constant int v = 2; };
         static_assert(outer::X<int>::v == 2 && outer::X<half>::v == 1);
         constexpr int sw(int i) { int r = 0; for (int k = 0; k < i; ++k) { if (k == 3) continue; if (k > 6) break; r += k; } do { r++; } while (r < 10); return r; }
         static_assert(sw(100) == 19);
         constexpr uint hash(constant const char* s) { uint h = 5381; while (*s) h = h * 33 + *s++; return h; }
         static_assert(hash(\"abc\") != 0);
         constexpr int deref() { int m[2][3] = {{1,2,3},{4,5,6}}; int t = 0; for (int i = 0; i < 2; i++) for (int j = 0; j < 3; j++) t += m[i][j] * (i + 1); return t; }
         static_assert(deref() == 36);
         constexpr float2x2 mm() { float2x2 m(1.0f); m[0][1] = 3; return m * 2.0f; }
         static_assert(mm()[0][1] == 6 && mm()[1][1] == 2);
         constexpr int cm() { int x = 1; x += x++ + 2; x <<= 3; x ^= 1; x %= 100; return x; }
         enum Mode : uchar { M0, M1 };
         template <Mode M> constexpr int mode() { return M == M1 ? 1 : 0; }
         static_assert(mode<M1>() == 1);
         template <typename T, typename enable_if<is_floating_point_v<T>, bool>::type = true> constexpr int cls(T) { return 1; }
         template <typename T, typename enable_if<is_integral_v<T>, bool>::type = true> constexpr int cls(T) { return 2; }
         static_assert(cls(1.0f) == 1 && cls(1) == 2);
         template <typename T> constexpr enable_if_t<sizeof(T) == 4, int> sz(T) { return 4; }
         template <typename T> constexpr enable_if_t<sizeof(T) == 2, int> sz(T) { return 2; }
         static_assert(sz(1) == 4 && sz(1.0h) == 2);
         struct Base { int b; constexpr int get() const { return b; } };
         struct Derived : Base { int d; };
         constexpr int inh() { Derived d{{3}, 4}; return d.get() * 10 + d.d + d.b; }
         static_assert(inh() == 37);
         
         static_assert(ternary_lvalue() == 5);
         constexpr int tr() { int a = 1, b = 2; bool c = a > 3; thread int& r = c ? a : b; r = 9; ++(c ? a : b); return b; }
         static_assert(tr() == 10);",
    );
}

#[test]
fn conditionals_of_conditionals_are_places() {
    accept(
        "constexpr int changed(int n) {
             int a = 1, b = 2, c = 3;
             (n == 0 ? a : n == 1 ? b : c) += 10;
             (n == 0 ? n == 1 ? a : b : c) *= 2;
             return a * 10000 + b * 100 + c;
         }
         static_assert(changed(0) == 110403 && changed(1) == 11206 && changed(2) == 10226);",
    );
}

#[test]
fn evaluation_continues_after_the_functions_that_it_calls_are_checked() {
    accept(
        "template<int N> constexpr int below() { return N + below<N - 1>(); }
         template<> constexpr int below<0>() { return 0; }
         static_assert(below<100>() == 5050);
         template<typename T> constexpr T twice(T x) { T y = x; for (int i = 0; i < 1; ++i) y += x; return y; }
         constexpr int sum() { int s = 0; for (int i = 0; i < 9; ++i) s += twice(i) + twice<short>(i); return s; }
         static_assert(sum() == 144);",
    );
}

#[test]
fn the_more_special_template_is_chosen() {
    accept(
        "template <class... A> int f(A... a);
         template <class T, class... A> char f(T a, A... b);
         template <class T, class U> short f(T a, U b);
         static_assert(sizeof(f()) == 4 && sizeof(f(1, 2, 3)) == 1 && sizeof(f(1, 2)) == 2);
         template <class T> int r(T&) { return 0; }
         template <class T> char r(T&&) { return 0; }
         void g(int i) { static_assert(sizeof(r(i)) == 4 && sizeof(r(5)) == 1); }
         template <class... T> struct list;
         template <class L> struct kind { static constant constexpr int value = 0; };
         template <class H, class... T> struct kind<list<H, T...>> { static constant constexpr int value = 1; };
         template <class H, class... T> struct kind<list<H, T*...>> { static constant constexpr int value = 2; };
         template <class H, class... T> struct kind<list<H*, T*...>> { static constant constexpr int value = 3; };
         static_assert(kind<list<>>::value == 0 && kind<list<int>>::value == 2);
         static_assert(kind<list<int, int>>::value == 1 && kind<list<int, int*>>::value == 2);
         static_assert(kind<list<int*, int*>>::value == 3);
         template <class T, class U = void, class V = void> struct has { static constant constexpr int value = 1; };
         template <class T, class U> struct has<T, U, typename T::b> { static constant constexpr int value = 2; };
         template <class T> struct has<T, typename T::a, typename T::b> { static constant constexpr int value = 3; };
         struct B { using b = void; };
         struct AB { using a = void; using b = void; };
         static_assert(has<B>::value == 2 && has<AB>::value == 3);
         template <class T> void s(T&&);
         template <> void s(int&) {}",
    );
}

#[test]
fn explicit_arguments_begin_a_pack() {
    accept(
        "template <class... A> int f(A... a);
         void g(thread int* p) { f<thread int*>(0, 1.0f); f<thread int*, float>(0, 1); f<>(p); }",
    );
}

#[test]
fn a_lambda_may_copy_the_object() {
    accept(
        "struct S {
             int v;
             constexpr int twice() const { return [*this](int n) { return v * n; }(2); }
         };
         static_assert(S{3}.twice() == 6);",
    );
}

#[test]
fn special_members_of_bases_are_part_of_the_class() {
    accept(
        "class A {
         protected:
             A() {}
             A(thread const A&) {}
             thread A& operator=(thread const A&) { return *this; }
         };
         class B : public A {};
         void f() { B a; B b = a; a = b; }
         struct alignas(16) Empty {};
         struct Derived : Empty {};
         static_assert(alignof(Derived) == 16 && sizeof(Derived) == 16);",
    );
}

#[test]
fn traits_know_special_members() {
    accept(
        "struct Plain { int a; };
         struct Copied { Copied(thread const Copied&); };
         struct Made { Made() {} };
         struct Part { Copied c; };
         struct Defaulted { Defaulted() = default; Defaulted(thread const Defaulted&) = default; };
         static_assert(__is_trivial(Plain) && __is_trivial(Defaulted) && __is_trivial(int));
         static_assert(!__is_trivial(Copied) && !__is_trivially_copyable(Copied));
         static_assert(!__is_trivially_copyable(Part[2]));
         static_assert(!__is_trivial(Made) && __is_trivially_copyable(Made));",
    );
}

#[test]
fn members_defined_outside_of_their_class() {
    accept(
        "template <class T, class U = int> struct C {
             struct D;
             template <class V> constexpr V f(V v, T t) const;
             template <class V> struct E;
             struct G { template <class W> constexpr int m(W w) const; };
             int B;
             constexpr int hidden() const;
         };
         template <class T, class U> struct C<T, U>::D { T x; constexpr int g() const; };
         template <class A, class B> constexpr int C<A, B>::D::g() const { return x; }
         template <class A, class B> template <class V>
         constexpr V C<A, B>::f(V v, A t) const { return v + t; }
         template <class A, class B> template <class V>
         struct C<A, B>::E { V a; A b; constexpr V h(A c) const; };
         template <class A, class B> template <class X>
         constexpr X C<A, B>::E<X>::h(A c) const { return a + b + c; }
         template <class A, class B> template <class W>
         constexpr int C<A, B>::G::m(W w) const { return w * 2; }
         template <class A, class B> constexpr int C<A, B>::hidden() const { return B; }
         static_assert(C<int>::D{3}.g() == 3 && C<int>().f(1, 2) == 3);
         static_assert(C<int>::E<char>{1, 3}.h(4) == 8 && C<int>::G().m(2) == 4);
         static_assert(C<int>().hidden() == 0);

         template <> template <> constexpr int C<float>::f(int v, float t) const { return 7; }
         template <> template <class V> constexpr V C<uchar>::f(V v, uchar t) const { return 8; }
         template <> struct C<char>::D { int y; constexpr int q() const; };
         constexpr int C<char>::D::q() const { return y + 1; }
         template <> template <> struct C<int>::E<float> { float z[3]; };
         template <class A, class B> template <class X> struct C<A, B>::E<X*> { X w[5]; };
         static_assert(C<float>().f(1, 2.0f) == 7 && C<float>().f(1.0f, 2.0f) == 3.0f);
         static_assert(C<uchar>().f(1, 2) == 8 && C<char>::D{1}.q() == 2);
         static_assert(sizeof(C<int>::E<float>) == 12 && sizeof(C<int>::E<int*>) == 20);

         struct P { template <class T> constexpr T id(T t) const; struct Q; template <class T> struct R; };
         template <class T> constexpr T P::id(T t) const { return t; }
         struct P::Q { int i; constexpr int z() const; };
         constexpr int P::Q::z() const { return i; }
         template <class T> struct P::R { T r; constexpr T get() const; };
         template <class T> constexpr T P::R<T>::get() const { return r; }
         static_assert(P().id(3) == 3 && P::Q{4}.z() == 4 && P::R<int>{5}.get() == 5);",
    );
}

#[test]
fn templates_of_inline_namespaces_are_specialised_outside() {
    accept(
        "namespace n { inline namespace m { template <class T> constexpr int f(T) { return 1; } }
             template <> constexpr int f(char) { return 2; }
             template <> constexpr int f<short>(short) { return 3; }
             template int f(long); }
         static_assert(n::f(1) == 1 && n::f('a') == 2 && n::f(short(1)) == 3);
         template <class T> constexpr T only() { return 1; }
         template <> constexpr float only() { return 2; }
         static_assert(only<int>() == 1 && only<float>() == 2);",
    );
}
