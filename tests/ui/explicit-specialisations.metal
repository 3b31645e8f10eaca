// Explicit specialisations and instantiations: where they may stand, what they need, and in which order.
// checked
namespace n
{
template <typename T> struct Box
{
    T value;
    static void reset(thread T& x) { x = T(); }
    struct Lid;
    template <typename U> void put(U u);
    static constant int tag = 1;
};
template <typename T> void fill(T x) {}
template <typename T> constant int kind = 0;
} // namespace n

template <typename T> struct Late;
template <typename T> T twice(T x) { return x + x; }

namespace elsewhere
{
template <> struct n::Box<char> //~ wrong-namespace: explicit specialization of `Box` not in a namespace enclosing namespace `n`
{
};
template <> void n::fill(char x) {} //~ wrong-namespace: cannot define or redeclare `fill` here
template <> int twice(int x) { return x; } //~ wrong-namespace: explicit specialization of `twice` must occur at global scope
template struct Late<char>; //~ wrong-namespace //~ explicit-instantiation: explicit instantiation of undefined template
template int twice(int); //~ wrong-namespace: explicit instantiation of `twice` must occur at global scope
template struct n::Box<short>; //~ wrong-namespace: not in a namespace enclosing namespace `n`
} // namespace elsewhere

// The template's namespace, or one around it with a qualified name.
template struct n::Box<int>;
template struct n::Box<int>; //~ explicit-instantiation: duplicate explicit instantiation of `Box<int>`
extern template struct n::Box<int>; //~ explicit-instantiation: follows explicit instantiation definition
template <> struct n::Box<int> //~ explicit-instantiation: explicit specialization of `Box<int>` after instantiation
{
};
template <> struct n::Box<half>
{
    half other;
};
template <> struct n::Box<half> //~ explicit-instantiation: redefinition of `Box<half>`
{
};
template float twice(float);
template float twice(float); //~ explicit-instantiation: duplicate explicit instantiation of `twice<float>`
template <> float twice(float x) { return x; } //~ explicit-instantiation: after instantiation
template struct Late<int>; //~ explicit-instantiation: explicit instantiation of undefined template `Late<int>`
template <typename T> struct Late
{
};
template struct Late<float>;
struct Plain
{
    struct Inner
    {
    };
    void f();
    template <typename T> T g(T t) const;
};
template struct Plain::Inner; //~ explicit-instantiation: explicit instantiation of non-templated type `Inner`

// Members.
template <> void n::Box<short>::reset(thread short& x) { x = 1; }
template <> void n::Box<uint>::reset(thread int& x) { x = 1; } //~ no-matching-template: no function template matches
template <> template <> void n::Box<uint>::put(int u) {}
template <> void n::Box<half>::reset(thread half& x) {} //~ no-matching-template: no function template matches
void n::Box<uchar>::reset(thread uchar& x) {} //~ bad-template: requires `template<>`
template <> int Plain::g(int t) const { return t; }
template <> int Plain::g(float t) const { return 1; } //~ no-matching-template: no function template matches
template <> constant int n::kind<int> = 1;
template <> constant int n::kind<int> = 2; //~ explicit-instantiation: redefinition of `kind`
