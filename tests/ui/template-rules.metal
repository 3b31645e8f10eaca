// Templates that no arguments make right, and specialisations that fit equally.
// checked
template <typename T, typename U> struct Pair
{
};
template <typename T, typename U> struct Pair<thread T*, U>
{
};
template <typename T, typename U> struct Pair<T, thread U*>
{
};
template <typename T, typename U> struct Pair<const thread T*, const thread U*>
{
};
Pair<thread int*, thread int*> both; //~ ambiguous-specialisation
Pair<const thread int*, const thread int*> one;
Pair<thread int*, float> left;

template <int N> struct Count
{
};
template <short N> void shorter(Count<N> x) {}
template <int N> void same(Count<N> x) {}
template <typename T, T V, typename U> void values(Count<V> x, Count<V> y, U z) {}
template <int N> void extent(thread int (&x)[N]) {}
void deduces()
{
    Count<1> count;
    int list[3] = {};
    shorter(count); //~ no-matching-function
    shorter<1>(count);
    same(count);
    extent(list);
}

template <typename... Ts> struct List
{
};
template <typename T, typename... Ts> using Front = List<T, Ts...>;
template <typename T, typename... Ts> using Rotated = Front<Ts..., T>; //~ pack-expansion
template <typename... Ts> using All = Front<int, Ts...>;
template <typename T> using Always = int;

template <typename... Ts> void lambdas(Ts... xs)
{
    [] { //~ unexpanded-pack: lambda contains unexpanded parameter pack `Ts`
        typedef Ts type;
    };
    auto fine = [](Ts... ys) { List<Ts...> all; };
}

template <typename T> struct Independent
{
    void f(Always<T> x) { nowhere(x); } //~ unknown-name: unknown function `nowhere`
    void g(T x) { nowhere(x); }
};
template <typename... Ts> void expands(int x)
{
    Always<int> y = sizeof(List<int>(x...)); //~ not-a-pack
    List<int...> list; //~ not-a-pack
}

template <typename T> struct Single
{
};
template <template <typename, int> class C = Single> struct Holder; //~ template-expected
template <template <typename> class C = Single<int>> struct Applied; //~ template-expected
template <template <typename> class C = Single> struct Fine;
template <typename T> typedef T alias; //~ bad-template: typedef cannot be a template
struct Members
{
    template <> int field; //~ bad-template
};

struct Left
{
    typedef int type;
};
struct Right
{
    typedef float type;
};
template <typename T> struct Joined : Left, Right
{
    type value(); //~ ambiguous-member
};

template <typename T> struct Outer
{
    struct Inner
    {
    };
    template <typename U> static int y;
};
template <> struct Outer<float>::Inner;
Outer<int>::Inner defined;
Outer<float>::Inner undefined; //~ incomplete-type
template <> template <typename U> int Outer<int>::y<U>; //~ bad-template: does not specialize any template argument

class Owner
{
    template <typename T> class Box
    {
    };
};
class User
{
    template <typename T> void f();
    template <typename T> int g();
};
template <typename T> void User::f() {}
template <typename T> Owner::Box<T> User::g() { return {}; } //~ inaccessible-member
template <typename T> void declared(Owner::Box<T>); //~ inaccessible-member
template <typename T> void declared(Owner::Box<T>) {} //~ inaccessible-member

struct Value
{
    Value(float);
    Value (method)(int);
};

void local_classes()
{
    {
        struct Fresh* pointer;
    }
    int size = sizeof(Fresh); //~ unknown-name
}
