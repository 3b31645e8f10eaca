// Statements where they cannot stand.
#include <metal_stdlib>
using namespace metal;

kernel void jumps(device int* x [[buffer(0)]])
{
    break; //~ stray-break
    continue; //~ stray-continue
}

kernel void selector(device float* x [[buffer(0)]])
{
    switch (x[0]) { default: break; } //~ bad-selector
}

kernel void switch_without_block(device int* x [[buffer(0)]])
{
    switch (x[0]) x[1] = 2;
}

kernel void cases(device int* x [[buffer(0)]])
{
    switch (x[0])
    {
        case 1: x[1] = 2; break;
        case 1: x[1] = 3; break; //~ duplicate-case
        default: break;
        default: break; //~ duplicate-case
        case -3 ... 1: x[1] = 4; //~ duplicate-case: for a value from -3 to 1
        case 5 ... 4: x[1] = 5; break; //~ empty-range
        case 10 ... 20: break;
        case 20: break; //~ duplicate-case
        case 2 ... x[0]: break; //~ not-constant
    }
}

#define CASE(n) case n: x[0] = n;
#define TEN(n) CASE(n##0) CASE(n##1) CASE(n##2) CASE(n##3) CASE(n##4) CASE(n##5) CASE(n##6) CASE(n##7) CASE(n##8) CASE(n##9)

kernel void without_breaks(device int* x [[buffer(0)]])
{
    switch (x[0])
    {
        TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9) TEN(10) TEN(11) TEN(12) TEN(13) TEN(14) TEN(15) TEN(16) //~ fall-through
    }
}

kernel void range(device int* x [[buffer(0)]])
{
    for (int value : x[0]) //~ bad-range
        x[1] = value;
}

kernel void inner_function(device int* x [[buffer(0)]])
{
    int helper(int y) { return y; } //~ local-function
    x[0] = 1;
}

kernel void vector_as_condition(device float4* x [[buffer(0)]])
{
    if (x[0] < x[1]) //~ vector-condition
        x[0] = 0;
}

int no_result(int x) { return; } //~ missing-result
void excess_result(int x) { return x; } //~ excess-result

kernel void results(device int* x [[buffer(0)]])
{
    x[0] = no_result(x[0]);
    excess_result(x[0]);
}
