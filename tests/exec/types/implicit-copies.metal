// Copies that a class does not declare: which function of each part they call, what overload resolution does
// with deleted ones, and the constructors of empty bases.
//! covers: C++ class.copy
//! covers: C++ dcl.fct.def.delete
//! oracle: clang
//! kernel: copy
//! arg 0: i32 0*8
//! expect 0: i32 1 2 12 5 30 7 1 2

#include <metal_stdlib>
using namespace metal;

struct TakesMutable {
    int n;
    TakesMutable() : n(0) {}
    TakesMutable(thread TakesMutable& other) : n(other.n + 1) { other.n = 10; }
};
struct HasTakesMutable { TakesMutable part; };

struct OnlyMoved {
    int n;
    OnlyMoved(int n) : n(n) {}
    OnlyMoved(const thread OnlyMoved&) = delete;
    OnlyMoved(thread OnlyMoved&& other) : n(other.n + 4) {}
};
struct HasOnlyMoved { OnlyMoved part; };

struct Empty {
    Empty(thread int& n) { n *= 10; }
};
struct Derived : Empty {
    int n;
    Derived(thread int& k) : Empty(k), n(k) {}
};

struct Converted {
    int n;
    Converted(int n) = delete;
    Converted(float n) : n(int(n)) {}
};

struct NotCopied {
    NotCopied() {}
    NotCopied(const thread NotCopied&) = delete;
};
template <typename T> auto copies(thread T& x) -> decltype(T(x), int()) { return 1; }
template <typename T> int copies(const thread T& x) { return 2; }

kernel void copy(device int* out [[buffer(0)]])
{
    HasTakesMutable a;
    a.part.n = 0;
    HasTakesMutable b = a;
    out[0] = b.part.n;
    HasTakesMutable c(b);
    out[1] = c.part.n;
    out[2] = a.part.n + c.part.n;
    HasOnlyMoved d = { OnlyMoved(1) };
    HasOnlyMoved e = static_cast<thread HasOnlyMoved&&>(d);
    out[3] = e.part.n;
    int n = 3;
    Derived f(n);
    out[4] = f.n;
    Converted g(7.5f);
    out[5] = g.n;
    NotCopied h;
    out[6] = copies(n);
    out[7] = copies(h);
}
