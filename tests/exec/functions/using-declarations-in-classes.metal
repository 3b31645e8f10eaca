// Using-declarations make functions, types, members and constructors of bases those of a class.
//! covers: C++ class.derived, C++ class.ctor
//! oracle: clang
//! kernel: members
//! arg 0: i32 0*14
//! expect 0: i32 1 20 3 40 5 6 7 8 9 10 11 12 13 14
//! kernel: constructors
//! arg 0: i32 0*12
//! expect 0: i32 3 7 4 7 5 9 1 2 8 7 6 30

#include <metal_stdlib>
using namespace metal;

struct Base {
    typedef short Word;
    enum Kind { first = 6, second = 7 };
    int value = 8;
    int f(int) const { return 1; }
    int f(float) const { return 2; }
    int g(int) const { return 3; }
    template <typename T> int generic(T) const { return 9; }
    int operator()(int n) const { return n; }
    int operator()(int n, int m) const { return n + m; }
    static int counted() { return 11; }
    operator int() const { return 13; }
};
struct Hiding : Base { int f(float) const { return 20; } int g(float) const { return 40; } };
struct Using : Base {
    using Base::f;
    using Base::g;
    int f(float) const { return 20; }
    int g(float) const { return 4; }
};
struct Order : Base { int f(float) const { return 5; } using Base::f; };
struct Renamed : private Base {
    using Base::Word;
    using Base::Kind;
    using Base::first, Base::second;
    using Base::value;
    using Base::generic;
    using Base::operator();
    using Base::counted;
    using Base::operator int;
    int operator()() const { return 10; }
    int of_kind(Kind kind) const { return kind; }
};
template <typename T> struct Generic : T {
    using T::f;
    using typename T::Word;
    int f(bool) const { return 12; }
    static int size() { return sizeof(Word); }
};
struct Left { int pick(int) const { return 1; } };
struct Right { int pick(float) const { return 14; } };
struct Both : Left, Right { using Left::pick; using Right::pick; };

kernel void members(device int* out) {
    Using u;
    Hiding h;
    out[0] = u.f(1);
    out[1] = u.f(1.0f);
    out[2] = u.g(1);
    out[3] = h.g(1);
    Order o;
    out[4] = o.f(1.0f);
    Renamed r;
    out[5] = r.of_kind(Renamed::first);
    out[6] = Renamed::second;
    out[7] = r.value;
    out[8] = r.generic(sizeof(Renamed::Word));
    out[9] = r();
    out[10] = r(Renamed::counted());
    Generic<Base> generic;
    out[11] = generic.f(true) * (Generic<Base>::size() - 1);
    int converted = r;
    out[12] = converted;
    Both both;
    out[13] = both.pick(2.0f) * both.pick(1);
}

struct Made {
    int a, b;
    Made(int a) : a(a), b(1) {}
    Made(int a, int b) : a(a), b(b) {}
    template <typename T> Made(T t, float scale) : a(t * scale), b(2) {}
    explicit Made(float) : a(8), b(0) {}
};
struct Inheriting : Made { using Made::Made; int more = 7; };
struct Twice : Inheriting { using Inheriting::Inheriting; int last = 4; };
struct Own : Made { using Made::Made; Own(int a) : Made(a * 3, 9) {} Own() : Made(1, 2) {} };
template <typename T> struct Around : T { using T::T; };
template <typename T> struct Templated { T x; Templated(T x, int n) : x(x + n) {} };
template <typename T> struct OfTemplate : Templated<T> { using Templated<T>::Templated; };
struct ByAlias : Templated<int> { using Parent = Templated<int>; using Parent::Parent; };
struct Nothing { Nothing(thread int& n) { n = 30; } };
struct OfNothing : Nothing { using Nothing::Nothing; int rest = 6; };
static int taken(Inheriting object) { return object.a; }

kernel void constructors(device int* out) {
    Inheriting i(3);
    out[0] = i.a;
    out[1] = i.more;
    Twice t(1, 2);
    out[2] = t.last;
    out[3] = t.more;
    out[4] = taken(5);
    Own o(3);
    out[5] = o.a;
    Own none;
    out[6] = none.a;
    out[7] = t.b;
    Around<Made> around(2, 4.0f);
    out[8] = around.a;
    OfTemplate<int> of(3, 4);
    out[9] = of.x;
    ByAlias alias{2, 4};
    out[10] = alias.x;
    int written = 0;
    OfNothing empty(written);
    out[11] = written + empty.rest - 6;
}
