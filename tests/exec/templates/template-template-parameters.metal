// Templates as arguments of templates: explicit, deduced, with defaults, packs and specialisations.
//! covers: C++ temp.arg, C++ temp.class.spec, C++ temp.deduct
//! oracle: clang
//! kernel: arguments
//! arg 0: i32 0*18
//! expect 0: i32 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18

#include <metal_stdlib>
using namespace metal;

template <typename T> struct Box { T value; static constexpr int rank() { return 1; } };
template <typename T> struct Crate { T value; static constexpr int rank() { return 2; } };
template <typename T, int N> struct Row { T items[N]; static constexpr int rank() { return 3; } };
template <typename... Ts> struct List { static constexpr int rank() { return sizeof...(Ts); } };
template <typename A, typename B> struct Two { A a; B b; };

template <template <typename> class C, typename T> struct Applied { C<T> inner; };
template <template <typename> typename C = Crate> struct Defaulted { static constexpr int rank() { return C<int>::rank(); } };
template <typename T, template <typename> class = Box> struct Unnamed { static constexpr int value = sizeof(T); };

// Deduction, which tells templates by their parameters.
template <template <typename> class C, typename T> int kind(C<T> of) { return of.value; }
template <template <typename, int> class C, typename T, int N> int kind(C<T, N>) { return N; }
template <template <typename, typename> class C, typename A, typename B> int kind(C<A, B>) { return 5; }
template <template <typename...> class C, typename... Ts> int count(C<Ts...>) { return sizeof...(Ts); }

// Partial specialisations by template and by argument.
template <typename T> struct Traits { static constexpr int value = 0; };
template <template <typename> class C, typename T> struct Traits<C<T>> { static constexpr int value = 7; };
template <template <typename> class C> struct Traits<C<int>> { static constexpr int value = 8; };
template <template <typename...> class C, typename A, typename B, typename D>
struct Traits<C<A, B, D>> { static constexpr int value = 9; };

// Templates of templates, packs of templates, members and aliases as arguments.
template <template <template <typename> class> class M> struct Third { static constexpr int value = M<Box>::rank() + 9; };
template <template <typename> class... Cs> struct Many {
    static constexpr int value = sizeof...(Cs) + 8;
    static constexpr int ranks() { return (Cs<int>::rank() + ...); }
};
template <typename T> using Alias = Row<T, 12>;
template <template <typename> class C> int length() { return sizeof(C<char>); }
struct Outer { template <typename T> struct Member { static constexpr int rank() { return 13; } }; };
template <template <typename> class C> struct Same { static constexpr bool as(Same<C>) { return true; } };
template <typename T, template <typename> class C> struct Rebind;
template <typename T, template <typename> class C, template <typename> class D>
struct Rebind<D<T>, C> { typedef C<T> type; };
template <typename T> struct OfClass { template <template <typename> class C> static int rank() { return C<T>::rank() + 13; } };

template <template <typename> class C> struct Chosen { static constexpr int value = 15; };
template <> struct Chosen<Crate> { static constexpr int value = 16; };
struct Derived : Box<int> {};

kernel void arguments(device int* out) {
    Applied<Box, int> applied = {{1}};
    out[0] = applied.inner.value;
    out[1] = Defaulted<>::rank();
    out[2] = kind(Box<short>{3});
    out[3] = kind(Row<float, 4>{});
    out[4] = kind(Two<int, float>{});
    out[5] = count(List<int, int, int>{}) + count(Two<int, float>{}) + Defaulted<Box>::rank();
    out[6] = Traits<Crate<float>>::value + Traits<int>::value;
    out[7] = Traits<Box<int>>::value;
    out[8] = Traits<List<int, int, int>>::value;
    out[9] = Third<Defaulted>::value;
    out[10] = Many<Box, Crate>::value + Many<Box, Crate>::ranks() - 2;
    out[11] = length<Alias>();
    out[12] = Applied<Outer::Member, int>{}.inner.rank();
    out[13] = OfClass<int>::rank<Box>();
    out[14] = Chosen<Box>::value;
    out[15] = Chosen<Crate>::value;
    Rebind<Box<short>, Crate>::type crate = {17};
    out[16] = crate.value;
    Derived derived;
    derived.value = 18;
    out[17] = Same<Box>::as(Same<Box>{}) ? kind(derived) : 0;
}
