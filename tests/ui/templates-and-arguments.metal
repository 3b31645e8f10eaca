// Templates with arguments that they do not take.
#include <metal_stdlib>
using namespace metal;

template <typename T, int N> struct Grid { T cells[N]; };
template <typename T> constant T half_of = T(0.5);
template <typename T> struct Guess { T value; };
template <typename T> struct Box { Box(int n) {} T value; };

kernel void counts(device float* x [[buffer(0)]])
{
    Grid<float> few; //~ too-few-template-arguments
    Grid<float, 2, 3> many; //~ too-many-template-arguments
}

kernel void kinds(device float* x [[buffer(0)]])
{
    Grid<3, 3> type; //~ type-expected
    Grid<float, float> value; //~ value-expected
}

kernel void names(device float* x [[buffer(0)]])
{
    Grid plain; //~ class-deduction
}

kernel void no_template(device float* x [[buffer(0)]])
{
    x[0] = half_of; //~ template-arguments
}

kernel void deduction(device float* x [[buffer(0)]])
{
    x[0] = Box(3).value; //~ class-deduction
}

kernel void vectors(device float* x [[buffer(0)]])
{
    vec<Guess<int>, 4> element; //~ vector-element
    vec<float, 20> size; //~ vector-size
}

template <typename... Ts> int unexpanded(Ts... values) { return values; } //~ unexpanded-pack
template <typename... Ts> int misplaced(Ts... values) { return { values... }; } //~ excess-initialisers
template <typename... Ts> bool asked(Ts... values) { return is_function_constant_defined(values...); } //~ pack-expansion

kernel void packs(device int* x [[buffer(0)]])
{
    x[2] = asked(1);
    x[0] = unexpanded(1, 2);
    x[1] = misplaced(1, 2);
    x[2] = sizeof...(x); //~ not-a-pack
}

template <int N> int count() { return count<N + 1>(); } //~ instantiation-limit

kernel void endless(device int* x [[buffer(0)]])
{
    x[0] = count<0>();
}

template <typename T> using Pair = Grid<T, 2>;

kernel void alias(device float* x [[buffer(0)]])
{
    Pair without; //~ not-a-type: needs template arguments
}
