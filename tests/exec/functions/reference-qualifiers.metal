// Members with reference qualifiers, rvalue references, and which overload a value category takes.
//! covers: C++ class.mfct, C++ over.match
//! oracle: clang
//! kernel: pick
//! arg 0: i32 0*14
//! expect 0: i32 1 2 3 2 2 10 20 20 20 42 43 7 9 2

#include <metal_stdlib>
using namespace metal;

struct S {
    int value;
    int which() & { return 1; }
    int which() && { return 2; }
    int which() const & { return 3; }
    thread int& get() & { return value; }
    int get() && { return value + 1; }
};

S make() { return S{42}; }

int over(thread int& x) { return 10; }
int over(int&& x) { return 20; }

template <typename T> int through(T&& x) { return over(static_cast<T&&>(x)); }

thread S&& moved(thread S& s) { return static_cast<thread S&&>(s); }

int take(int&& x) { x += 2; return x; }

struct Guard {
    int n;
    int run() const && noexcept { return n; }
};

kernel void pick(device int* out)
{
    S s{42};
    const S c{1};
    out[0] = s.which();
    out[1] = make().which();
    out[2] = c.which();
    out[3] = static_cast<thread S&&>(s).which();
    out[4] = moved(s).which();
    int n = 5;
    out[5] = over(n);
    out[6] = over(n + 1);
    out[7] = over(static_cast<thread int&&>(n));
    out[8] = through(7);
    s.get() = 42;
    out[9] = s.value;
    out[10] = make().get();
    int&& extended = n + 2;
    out[11] = extended;
    out[12] = take(n + 2);
    out[13] = Guard{2}.run();
}
