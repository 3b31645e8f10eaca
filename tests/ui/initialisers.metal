// Initialisers that do not fit what they initialise.
#include <metal_stdlib>
using namespace metal;

struct Inner { int a; };
struct Outer { Inner inner; int b; };
struct Seed { Seed(int n) : n(n) {} int n; };
struct Holder { Holder() {} Seed seed; }; //~ no-default-constructor

kernel void too_many(device int* x [[buffer(0)]])
{
    int three[3] = { 1, 2, 3, 4 }; //~ excess-initialisers
    int one = { 1, 2 }; //~ excess-initialisers
    x[0] = three[0] + one;
}

kernel void designators(device int* x [[buffer(0)]])
{
    int three[3] = { [1] = 2 }; //~ array-designator
    Outer outer = { .inner.a = 1 }; //~ nested-designator
    x[0] = three[0] + outer.b;
}

kernel void lists(device int* x [[buffer(0)]])
{
    x[0] = x[1] + { 1 }; //~ init-list
}

kernel void constructions(device float* x [[buffer(0)]])
{
    float4 few = float4(1, 2); //~ bad-construction: has 4 elements
    float4 many = float4(1, 2, 3, 4, 5); //~ bad-construction
    float4 listed = {1, 2, 3, 4, 5}; //~ bad-construction: has 4 elements
    float4 pointer = float4(x, 1, 2, 3); //~ bad-construction: cannot be part of a vector
    float2x2 columns = float2x2(1, 2, 3); //~ bad-construction: 2 columns or 4 scalars
    float scalar = float(1, 2); //~ bad-construction: constructed from one value
}

kernel void member_without_constructor(device int* x [[buffer(0)]])
{
    Holder holder;
    x[0] = holder.seed.n;
}
