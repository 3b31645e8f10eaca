// Partial specialisations and the parameters of templates that are declared again.
// checked
template <typename T, int N> struct A
{
};
template <typename T, int N> struct A<T, N> //~ bad-template: does not specialize any template argument
{
};
template <int N> struct A<int, N + 1> //~ bad-template: cannot be deduced
{
};
template <typename T, typename U> struct A<T, 1> //~ bad-template: `U`; this partial specialization will never be used
{
};
template <typename T, int N = 2> struct A<thread T*, N> //~ template-parameter: default template argument in a partial
{
};
template <typename... Ts> struct Many
{
};
template <typename T, typename... Ts> struct Many<Ts..., T> //~ bad-template: cannot be deduced
{
};
template <typename T, typename... Ts> struct Many<T, Ts...>
{
};
template <typename T, T value> struct Constant
{
};
template <typename T> struct Constant<T, 1> //~ bad-template: specializes a template parameter with dependent type
{
};
template <typename T> struct Constant<int, 1>; //~ bad-template: `T`
template <typename T, T value> struct Constant<thread T*, value>;
template <typename T> constant T zero = 0;
template <typename T> constant T zero<T> = 1; //~ bad-template: variable template partial specialization does not specialize

template <typename T> struct Outer
{
    template <typename U> struct Inner
    {
    };
    template <typename U> struct Inner<U> //~ bad-template: does not specialize any template argument
    {
    };
    template <typename U> void f(U u);
    struct Later;
};
template <typename T = int> struct Outer<T>::Later //~ template-parameter: cannot add a default template argument
{
};
template <typename T> template <typename U = int> void Outer<T>::f(U u) {} //~ template-parameter: cannot add a default

template <typename T, int N = 1> struct Again;
template <typename T, int N = 2> struct Again; //~ template-parameter: redefines default argument
template <typename... T> struct Again; //~ template-parameter: another number of template parameters
template <typename T, typename U> struct Again; //~ template-parameter: different kind
template <typename T, short N> struct Again; //~ template-parameter: has a different type
template <typename T, int... N> struct Again; //~ template-parameter: conflicts with previous non-type template parameter
template <template <typename> class C> struct OfTemplate;
template <template <typename...> class C> struct OfTemplate; //~ template-parameter: conflicts with previous type
template <typename... T = int> struct Wrong; //~ template-parameter: pack cannot have a default argument
template <template <> class C> struct Empty; //~ template-parameter: needs parameters of its own
struct Friendly
{
    template <typename T = int> friend void befriended(T); //~ template-parameter: not permitted on a friend
};
