// The machine has no call stack.
#include <metal_stdlib>
using namespace metal;

int odd(int n);
int even(int n) { return n == 0 ? 1 : odd(n - 1); } //~ unsupported-recursion
int odd(int n) { return n == 0 ? 0 : even(n - 1); }

kernel void recursive(device int* x [[buffer(0)]])
{
    x[0] = even(x[1]);
}
