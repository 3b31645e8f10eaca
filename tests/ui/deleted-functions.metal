// Functions that are deleted, by the program or by C++ (C++14 [dcl.fct.def.delete], [class.copy], [class.ctor]).
#include <metal_stdlib>
using namespace metal;

struct NotDefault { NotDefault() = delete; NotDefault(int n) : n(n) {} int n; };
struct NotCopied { NotCopied() {} NotCopied(const thread NotCopied&) = delete; int n; };
struct NotAssigned { NotAssigned() {} thread NotAssigned& operator=(const thread NotAssigned&) = delete; int n; };
struct Moved { Moved() {} Moved(thread Moved&&) {} int n; };
struct ConstMember { const int n; };
struct ReferenceMember { thread int& n; };
struct HasNotCopied { NotCopied member; };
struct DerivesNotCopied : NotCopied {};
struct ArrayOfNotAssigned { NotAssigned members[2]; };
struct HasNotDefault { NotDefault member; };
struct NoInt { NoInt() {} NoInt(int) = delete; NoInt(float) {} operator int() const = delete; };
struct Operators { int operator+(int) const = delete; thread Operators& operator++() = delete; };
struct Inherits : NotDefault { using NotDefault::NotDefault; thread int& other; };
struct LeavesConst { const int n; LeavesConst() {} }; //~ uninitialised-member
struct LeavesReference { thread int& n; LeavesReference() {} }; //~ uninitialised-member
union Variant { int number; Moved object; };

int take(float x) { return int(x); }
int take(int x) = delete;
int taken(NotCopied x) { return x.n; }
int made(NoInt x) { return 1; }
template <typename T> int general(T x) { return 1; }
template <> int general(float x) = delete;
template <int (*F)(int)> struct Calls {};
template <typename T> auto copy_if_possible(thread T& x) -> decltype(T(x), int()) { return 1; }
template <typename T> int copy_if_possible(const thread T& x) { return 2; }

kernel void constructors(device int* x [[buffer(0)]])
{
    NotDefault a; //~ deleted-function
    NotDefault b = NotDefault(); //~ deleted-function
    HasNotDefault c; //~ deleted-function: default constructor
    ConstMember d; //~ deleted-function
    ReferenceMember e; //~ deleted-function
    NoInt f(1); //~ deleted-function
    Inherits g(1); //~ deleted-function: inherited constructor
    Variant h; //~ deleted-function
    x[0] = made(1); //~ deleted-function
}

kernel void copies(device int* x [[buffer(0)]])
{
    NotCopied a;
    NotCopied b = a; //~ deleted-function: copy constructor
    HasNotCopied c;
    HasNotCopied d(c); //~ deleted-function: copy constructor
    DerivesNotCopied e;
    DerivesNotCopied f{e}; //~ deleted-function: copy constructor
    Moved g;
    Moved h = g; //~ deleted-function: copy constructor
    Moved i = static_cast<thread Moved&&>(g);
    x[0] = taken(a); //~ deleted-function: copy constructor
    auto closure = [=] { return a.n; }; //~ deleted-function: copy constructor
    NotCopied two[2] = { a, NotCopied() }; //~ deleted-function: copy constructor
}

kernel void assignments(device int* x [[buffer(0)]])
{
    NotAssigned a, b = a;
    a = b; //~ deleted-function: assignment
    ConstMember c = { 1 }, d = c;
    c = d; //~ deleted-function: assignment
    int n = 1;
    ReferenceMember e = { n }, f = e;
    e = f; //~ deleted-function: assignment
    ArrayOfNotAssigned g, h = g;
    g = h; //~ deleted-function: assignment
    Moved i, j;
    i = j; //~ deleted-function: assignment
}

kernel void functions(device int* x [[buffer(0)]])
{
    x[0] = take(1); //~ deleted-function
    x[1] = take(1.0f);
    x[2] = general(1);
    x[3] = general(1.0f); //~ deleted-function
    int (*pointer)(int) = take; //~ deleted-function
    Calls<take> calls; //~ deleted-function
    NoInt a;
    x[4] = a; //~ deleted-function
    Operators b;
    x[5] = b + 1; //~ deleted-function
    ++b; //~ deleted-function
}

kernel void members(device int* x [[buffer(0)]])
{
    LeavesConst a;
    int n = 1;
    LeavesReference b;
    ReferenceMember c = {}; //~ uninitialised-member
    x[0] = a.n + b.n;
}

kernel void substitution(device int* x [[buffer(0)]])
{
    NotCopied a;
    static_assert(!__is_constructible(NotCopied, const thread NotCopied&), "a copy is not possible");
    static_assert(!__is_constructible(NotDefault), "a default constructor is not there");
    x[0] = copy_if_possible(a);
}
