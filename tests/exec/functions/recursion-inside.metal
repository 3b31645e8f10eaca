// Calls of the function itself, directly and through others, before other work is done: up to 32 deep, less
// deep where a function calls itself at several places.
//! covers: C++ expr.call
//! kernel: factorials
//! threads: 8
//! arg 0: i32 0*8
//! expect 0: i32 1 1 2 6 24 120 720 5040
//! kernel: fibonacci
//! threads: 8
//! arg 0: i32 0*8
//! expect 0: i32 0 1 1 2 3 5 8 13
//! kernel: mutual
//! threads: 6
//! arg 0: i32 0*6
//! expect 0: i32 100 101 10102 10103 1010104 1010105
//! kernel: mirrored
//! arg 0: f32 -3 0.25 2
//! threads: 3
//! expect 0: f32 0.125 0.75 2
//! kernel: sums
//! arg 0: i32 1 2 5 -1 -1 7 -1 3 11 -1 -1 100
//! arg 1: i32 0*2
//! expect 1: i32 123 4
//! kernel: factorials
//! threads: 34
//! group: 34
//! arg 0: i32 0*34
//! expect 0: i32 1 1 2 6 24
//! faults: yes

#include <metal_stdlib>
using namespace metal;

int factorial(int n) {
    if (n <= 1) return 1;
    return n * factorial(n - 1);
}
kernel void factorials(device int* out, uint i [[thread_position_in_grid]]) { out[i] = factorial(int(i)); }

int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
kernel void fibonacci(device int* out, uint i [[thread_position_in_grid]]) { out[i] = fib(int(i)); }

// The digits tell who was called: 1 for `tick`, 0 for `tock`; the last is how often.
int tock(int n, thread int& count);
int tick(int n, thread int& count) {
    if (n == 0) return 1;
    ++count;
    return 1 + 10 * tock(n - 1, count);
}
int tock(int n, thread int& count) {
    if (n == 0) return 0;
    ++count;
    return 10 * tick(n - 1, count);
}
kernel void mutual(device int* out, uint i [[thread_position_in_grid]]) {
    int count = 0;
    int digits = tick(int(i), count);
    out[i] = digits * 100 + count;
}

// As reflection formulas do: one call at most.
float gauge(float x) {
    if (x < 0.0f) return 0.5f / gauge(1.0f - x);
    if (x < 0.5f) return 1.0f - gauge(0.75f + x) * x;
    return x;
}
kernel void mirrored(device float* out, uint i [[thread_position_in_grid]]) { out[i] = gauge(out[i]); }

struct Node { int left, right, value; };
struct Sum { int total, nodes; };
Sum sum(device const Node* tree, int at) {
    Sum result = {0, 0};
    if (at < 0) return result;
    Sum left = sum(tree, tree[at].left);
    Sum right = sum(tree, tree[at].right);
    result.total = left.total + right.total + tree[at].value;
    result.nodes = left.nodes + right.nodes + 1;
    return result;
}
kernel void sums(device const Node* tree, device int* out) {
    Sum all = sum(tree, 0);
    out[0] = all.total;
    out[1] = all.nodes;
}
