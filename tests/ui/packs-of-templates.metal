// Packs of template parameters that expand other packs, default arguments of template template parameters, and
// the templates that the compiler has of its own.
// checked
#include <metal_stdlib>
using namespace metal;

template <typename... T> struct Types {};
template <typename T, T... N> struct Sequence {};

template <typename... T> struct Values
{
    template <T... N> struct Apply { static constant int count = sizeof...(N); };
    template <template <T> class... C> struct Templates {};
};
static_assert(Values<int, char>::Apply<1, 'a'>::count == 2, "");
static_assert(Values<>::Apply<>::count == 0, "");
Values<int, char>::Apply<1> too_few; //~ too-few-template-arguments
Values<int>::Apply<1, 2> too_many; //~ too-many-template-arguments
template <int N> struct OfNumber {};
using Matched = Values<int, int>::Templates<OfNumber, OfNumber>;
template <typename... T, int N> struct NotLast {}; //~ template-parameter

template <typename T, typename = int> struct Pair {};
template <typename T, template <typename A, typename B = A*> class C> struct Uses { typedef C<T> type; };
static_assert(is_same<Uses<char, Pair>::type, Pair<char, char*>>::value, "the parameter's default counts");
template <typename T, template <typename A, typename B> class C> struct NoDefault { typedef C<T, T> type; };
static_assert(is_same<NoDefault<char, Pair>::type, Pair<char, char>>::value, "");
template <typename A, typename B = A> struct Renamed;
template <typename X, typename Y> struct Renamed { Y value; };
static_assert(is_same<decltype(Renamed<char>::value), char>::value, "");

static_assert(is_same<__make_integer_seq<Sequence, int, 3>, Sequence<int, 0, 1, 2>>::value, "");
static_assert(is_same<__make_integer_seq<Sequence, uint, 0>, Sequence<uint>>::value, "");
static_assert(is_same<__type_pack_element<1, int, float, char>, float>::value, "");
typedef __make_integer_seq<Sequence, int, -1> Negative; //~ array-length: non-negative sequence length
typedef __make_integer_seq<Sequence, float, 1> Fractions; //~ not-an-integer: integral element type
typedef __type_pack_element<2, int, float> Beyond; //~ index-out-of-range: out of bounds index
template <typename... T> using Third = __type_pack_element<2, T...>;
static_assert(is_same<Third<int, float, char>, char>::value, "");
