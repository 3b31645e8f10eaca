// Packs of base classes, their constructors, and using-declarations of all of them; the name of a class template
// in itself as an argument.
//! covers: C++ temp.variadic
//! covers: C++ namespace.udecl
//! covers: C++ temp.local
//! oracle: clang
//! kernel: bases
//! arg 0: i32 0*9
//! expect 0: i32 1 2 3 4 11 20 7 5 9

#include <metal_stdlib>
using namespace metal;

struct First { int a; First(int n) : a(n) {} int pick(int n) { return 10 + n; } };
struct Second { int b; Second(int n) : b(n + 1) {} int pick(float n) { return 10 * int(n); } };
template <typename... Bases> struct Joined : Bases... {
    Joined(int n) : Bases(n)... {}
    Joined(const thread Bases&... bases) : Bases(bases)... {}
    using Bases::pick...;
};

struct Empty { int get() { return 7; } };
struct Data { int value; };
template <typename... Bases> struct Plain : Bases... { int own; };

template <typename... Functions> struct Overloaded : Functions... {
    using Functions::operator()...;
    Overloaded(Functions... functions) : Functions(functions)... {}
};
template <typename... Functions> Overloaded<Functions...> overloaded(Functions... functions)
{
    return Overloaded<Functions...>(functions...);
}

template <template <typename> class T> struct Rebound { T<int> value; };
template <typename T> struct Named {
    T value;
    thread Rebound<Named>* other;
};

kernel void bases(device int* out [[buffer(0)]])
{
    Joined<First, Second> joined(1);
    out[0] = joined.a;
    out[1] = joined.b;
    Joined<First, Second> copied(First(3), Second(3));
    out[2] = copied.a;
    out[3] = copied.b;
    out[4] = copied.pick(1);
    out[5] = copied.pick(2.0f);
    Plain<Empty, Data> plain;
    plain.value = 5;
    out[6] = plain.get();
    int captured = 4;
    auto both = overloaded([=](int n) { return captured + n; }, [](float n) { return 3; });
    out[7] = both(1);
    Named<float> named;
    Rebound<Named> rebound;
    rebound.value.value = 6;
    named.other = &rebound;
    out[8] = named.other->value.value + both(1.0f);
}
