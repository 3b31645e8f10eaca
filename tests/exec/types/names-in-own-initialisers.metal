// A variable is declared before its initialiser, which hides an outer one of its name.
//! covers: C++ basic.scope.pdecl
//! oracle: clang
//! kernel: names
//! arg 0: i32 0*5
//! expect 0: i32 4 4 7 1 2

#include <metal_stdlib>
using namespace metal;

struct Node { thread Node* next; int value; };
int set(thread int& x) { x = 3; return x + 4; }

kernel void names(device int* out [[buffer(0)]])
{
    const int n = sizeof(n);
    int elements[n];
    out[0] = n;
    elements[0] = sizeof(elements) / sizeof(elements[0]);
    out[1] = elements[0];
    int value = set(value);
    out[2] = value;
    Node node = { &node, 1 };
    out[3] = node.next->next->value;
    int outer = 8;
    {
        short outer = sizeof(outer);
        out[4] = outer;
    }
}
