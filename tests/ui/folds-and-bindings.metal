// Fold expressions and structured bindings that do not fit what they are applied to.
#include <metal_stdlib>
using namespace metal;

struct Three { int a, b, c; };
struct Base { int x; };
struct Mixed : Base { int y; };

template <typename... Ts> int sum(Ts... xs) { return (xs + ...); } //~ empty-fold
template <typename... Ts> int both(Ts... xs) { return (xs + ... + xs); } //~ fold-operand
template <typename... Ts> int again(Ts... xs) { return ((xs + ...) + ...); } //~ fold-operand
int none(int x) { return (x + ...); } //~ fold-operand

kernel void folds(device int* out [[buffer(0)]])
{
    out[0] = sum();
    out[1] = both(1, 2);
    out[2] = none(3);
    out[3] = again(1, 2);
}

kernel void bindings(device Three* in [[buffer(0)]], device int* out [[buffer(1)]])
{
    auto [a, b] = in[0]; //~ binding-count
    auto [x, y] = Mixed{{1}, 2}; //~ bad-bindings
    auto [z] = 1.0f; //~ bad-bindings
    auto [m, n, o] = in[0];
    auto lambda = [&]() { return m; }; //~ not-captured
    lambda();
    out[0] = n + o;
}
