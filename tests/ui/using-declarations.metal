// Using-declarations: what they name, what they hide, and when.
// checked
template <int N> struct Tag
{
};

namespace order
{
namespace inner
{
void f(Tag<0>);
}
using inner::f;
void early() { f(Tag<1>()); } //~ no-matching-function
namespace inner
{
void f(Tag<1>);
}
void between() { f(Tag<1>()); } //~ no-matching-function
using inner::f;
void late() { f(Tag<1>()); }
void overloaded(Tag<0>);
void calls() { overloaded(Tag<1>()); } //~ no-matching-function
void overloaded(Tag<1>);
} // namespace order

struct Base
{
    template <typename T> Tag<0> make() { return Tag<0>(); }
    template <typename T> Tag<0> from(T x) { return Tag<0>(); }
    struct both
    {
    };
    int both;
    enum Kind { one };
};
struct Hides : Base
{
    using Base::from;
    using Base::make;
    template <int N> Tag<1> make() { return Tag<1>(); }
    template <typename T> Tag<1> from(thread T* x) { return Tag<1>(); }
};
void hidden()
{
    Hides object;
    object.make<3>();
    object.make<int>(); //~ no-matching-function
    int x = 0;
    Tag<0> a = object.from(x);
    Tag<1> b = object.from(&x);
}

struct Uses : Base
{
    using Base::both;
    int value() { return both; }
    void tags()
    {
        struct both local;
        union both other; //~ tag-mismatch
    }
};

template <typename T> struct Types
{
    typedef int type;
    typedef Types self;
    void call();
    struct both
    {
    };
    int both;
    Types(int);
};
template <typename T> struct Resolves : Types<T>
{
    using Types<T>::type; //~ using-declaration: resolved to type without `typename`
    using typename Types<T>::both; //~ using-declaration: `typename` keyword used on a non-type
    using Types<T>::Types;
};
template struct Resolves<int>;
template <typename T> struct Repeats : Types<T>
{
    using Types<T>::call;
    using Types<T>::self::call; //~ using-declaration: conflicts with another declaration
    using typename Types<T>::type;
    using Types<T>::Types;
};
template struct Repeats<int>;
struct Operator : Base
{
    using typename Base::operator int; //~ using-declaration: before the name of an operator //~ unknown-member
};

namespace adl
{
struct S
{
};
void g(S);
} // namespace adl
namespace other
{
void g(int);
}
void block()
{
    adl::S s;
    using other::g;
    g(s);
}
namespace early
{
void h(int);
}
using early::h;
namespace late
{
void h(adl::S);
}
void block_using()
{
    using late::h;
    h(adl::S());
}
void block_function()
{
    adl::S s;
    extern void g(char);
    g(s); //~ no-matching-function
}
