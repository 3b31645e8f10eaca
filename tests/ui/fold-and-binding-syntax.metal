// Fold expressions and structured bindings that the grammar does not have.
#include <metal_stdlib>
using namespace metal;

template <typename... Ts> int loose(Ts... xs) { return (xs * 2 + ...); } //~ fold-operand
template <typename... Ts> int two(Ts... xs) { return (xs + ... * 2); } //~ fold-operator
template <typename... Ts> int open(Ts... xs) { return (... xs); } //~ expected-token

struct Pair { int a, b; };
constant auto [first, second] = Pair{1, 2}; //~ unsupported-feature

kernel void bindings(device Pair* in [[buffer(0)]])
{
    static auto [s, t] = in[0]; //~ bad-bindings
    auto [u, v]; //~ bad-bindings
}
