// Addresses of constants in constant expressions and as template arguments.
// checked
#include <metal_stdlib>
using namespace metal;

constant int first = 1;
constant int numbers[3] = {1, 2, 3};
constant const constant int* constant second = &numbers[1];
constexpr constant const constant int* constant none = nullptr;
constant const constant int& alias = first;
static_assert(second == numbers + 1, "");
static_assert(*second == 2 && alias == 1, "");
static_assert(second == numbers, "other addresses"); //~ static-assert: other addresses
constexpr constant const constant int* constant beyond = numbers + 4; //~ not-constant

struct Named
{
    int length;
    const constant char* text;
    char initial = text[0];
};
constexpr constant Named named = {4, "asdf"};
static_assert(named.text[2] == 'd' && named.initial == 'a', "");

template <const constant int* P> int pointed() { return *P; }
template <const constant int& R> int referred() { return R; }
template <auto& R, int N> struct is_zero : false_type {};
template <auto& R> struct is_zero<R, 0> : true_type {};
static_assert(is_zero<first, 0>::value && !is_zero<first, 1>::value, "");
template <auto* P> struct Held { static constant int value = *P; };
static_assert(Held<&first>::value == 1, "");

kernel void addresses(device int* out [[buffer(0)]], uint at [[thread_position_in_grid]])
{
    constexpr const constant int* local = &numbers[2];
    static_assert(*local == 3, "");
    int variable = 0;
    constexpr thread int* other = &variable; //~ not-constant
    out[0] = *second + named.text[at] + *local + *other;
    out[1] = pointed<&first>() + referred<first>();
    out[2] = pointed<&numbers[1]>(); //~ no-matching-function
    Held<&variable> held; //~ not-constant
}
