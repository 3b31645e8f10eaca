// Access to members and bases (C++14 [class.access]): what is private or protected is used by its class, the
// classes within it, and friends.
#include <metal_stdlib>
using namespace metal;

class Hidden {
    int value;
    typedef int type;
    enum Kind { kind };
    static int count() { return 1; }
    Hidden(int n) : value(n) {}
    int get() const { return value; }
    int pick(int n) { return n; }
    operator int() const { return value; }
    int operator+(int n) const { return n; }

public:
    Hidden() : value(0) {}
    int pick(float n) { return value; }
    static Hidden make() { return Hidden(1); }
    struct Inner { int of(const thread Hidden& h) { return h.value; } };
    friend int befriended(const thread Hidden& h);
    friend struct Friend;
};
int befriended(const thread Hidden& h) { return h.value; }
int stranger(const thread Hidden& h) { return h.value; } //~ inaccessible-member
struct Friend { int of(const thread Hidden& h) { return h.get(); } };

class NotCopied { NotCopied(const thread NotCopied&) = default; public: NotCopied() {} int n; };
class NotDefault { NotDefault() = default; public: int n; };
struct HasNotCopied { NotCopied member; };
class List { int a; public: int b; };

struct Base { int value; protected: int guarded; int guard() { return 1; } Base() {} };
struct Private : private Base { int own() { return value + guarded; } };
class Default : Base { public: using Base::value; };
struct Public : Base {
    int own(thread Public& other) { return guarded + other.guarded + Base::guard(); }
    int others(thread Base& other) { return other.guarded; } //~ inaccessible-member
};

template <typename T> auto read(thread T& x) -> decltype(x.value) { return x.value; }
template <typename T> int read(const thread T& x) { return 1; }

kernel void members(device int* out [[buffer(0)]])
{
    Hidden a = Hidden::make();
    out[0] = a.value; //~ inaccessible-member
    Hidden::type t; //~ inaccessible-member
    out[1] = Hidden::kind; //~ inaccessible-member
    out[2] = Hidden::count(); //~ inaccessible-member
    out[3] = a.get(); //~ inaccessible-member
    out[4] = a.pick(1); //~ inaccessible-member
    out[5] = a.pick(1.0f);
    out[6] = a; //~ inaccessible-member
    out[7] = a + 1; //~ inaccessible-member
    Hidden b(1); //~ inaccessible-member
    Hidden::Inner inner;
    Friend friendly;
    out[8] = inner.of(a) + befriended(a) + friendly.of(a);
    out[9] = read(a);
    out[10] = stranger(a);
}

kernel void copies(device int* out [[buffer(0)]])
{
    NotCopied a;
    NotCopied b = a; //~ inaccessible-member
    HasNotCopied c;
    HasNotCopied d = c; //~ deleted-function
    NotDefault e; //~ inaccessible-member
    List f = { 1, 2 }; //~ no-matching-function
    List g = {};
}

kernel void bases(device int* out [[buffer(0)]])
{
    Private a;
    out[0] = a.value; //~ inaccessible-member
    thread Base& b = a; //~ inaccessible-member
    Default c;
    out[1] = c.value;
    Public d;
    out[2] = d.value + d.own(d) + a.own();
    out[3] = d.guarded; //~ inaccessible-member
    out[4] = d.guard(); //~ inaccessible-member
    out[5] = d.others(d);
    Base e; //~ inaccessible-member
}
