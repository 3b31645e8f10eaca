// Friends: whose rights they have, what they must name, and what they define.
// checked
namespace n
{
template <typename T> void named(T);
class Guarded
{
    friend void named<int>(int);
    static void enter() {}
};
template <typename T> void named(T)
{
    Guarded::enter(); //~ inaccessible-member: `Guarded::enter` is a private member of `Guarded`
}
} // namespace n

class Host
{
public:
    void visit();
};
class Closed
{
    static void enter() {}
    friend void Host::visit();
};
void Host::visit() { Closed::enter(); }
class Stranger
{
    void visit() { Closed::enter(); } //~ inaccessible-member
};

class Base
{
public:
    void inherited();
};
struct Derived : Base
{
};
struct Declares
{
    friend void Derived::inherited(); //~ bad-friend: no declaration fits this friend
    friend int Unknown::thing(); //~ unknown-name
};

class Private
{
    void hidden();
};
template <typename T> struct Befriends
{
    friend void T::hidden(); //~ inaccessible-member
    friend typename T::missing; //~ unknown-member
};
Befriends<Private> befriends;

class Key
{
    typedef int type;
    friend type plain(type x);
    template <typename T> friend type generic(type x);
};
template <typename T> Key::type generic(Key::type x) { return x; }

template <typename T> inline void once(thread T* x) {}
template <typename U> struct Definer
{
    template <typename T> friend void once(thread T* x) {} //~ redefinition: redefinition of `once`
    template <typename T> friend void each(thread T* x, U y) {}
};
Definer<int> first;
Definer<float> second;

void plain_function(int x);
struct Defines
{
    friend void plain_function(int x) {}
};
template <typename T> struct Redefines
{
    friend void plain_function(int x) {} //~ redefinition
};
Redefines<long> redefines;

namespace empty
{
}
template <typename T> struct Early
{
    friend void empty::late(T); //~ bad-friend
};
