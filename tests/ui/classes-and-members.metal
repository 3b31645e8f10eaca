// checked
// Initialisers and bases of classes, and the objects and scopes that members are named with.
#include <metal_stdlib>
using namespace metal;

struct Initialised
{
    int first = 1;
    int second = first + unknown; //~ unknown-name
    int third = first + second;
};

struct Empty
{
    constexpr Empty() { unknown(); } //~ unknown-name
};
struct Full : Empty
{
    int number;
    constexpr Full() : number(1) {}
};
constexpr constant Full full; //~ not-constant

constexpr int later();
constexpr constant int too_early = later(); //~ not-constant
constexpr int later() { return 1; }
constexpr constant int late_enough = later();

struct Functions
{
    void method();
    static void function();
    int overloaded(float x);
    static int overloaded(half x);
};
struct Other { int number; };

void calls(Functions functions, Functions other)
{
    functions.Other::number = 1; //~ unknown-member
    Functions::method(); //~ no-object
    Functions::overloaded(1); //~ ambiguous-call
    Functions::function();
    functions.Functions::method();
}

struct Base { operator int() const; };
struct Derived : Base { operator int(); };
int hidden(const Derived object) { return object; } //~ no-conversion
int visible(Derived object) { return object; }

struct NoElements {};
struct Aggregate { NoElements none; int number; };
void aggregates(NoElements none)
{
    Aggregate a = {1}; //~ excess-initialisers
    Aggregate b = {{}, 1};
    Aggregate c = {none, 1};
}

struct Refers { const thread int& number; };
struct Dangling
{
    Refers refers;
    Dangling() : refers{1} {} //~ dangling-member
    Dangling(thread int& number) : refers{number} {}
};

template <typename T> struct Container { typedef T Value; };
template <typename T> void dependent(T x)
{
    Container<T>::Value a; //~ missing-typename
    typename Container<T>::Value b;
    Container<int>::Value c;
    thread T& reference; //~ bad-variable
    x[[] { return 0; }()] = 1; //~ expected-token
}

template <int N = 2 * N> struct OwnDefault {}; //~ unknown-name
