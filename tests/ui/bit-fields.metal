// Bit-fields that cannot be, and what cannot be done with one.
#include <metal_stdlib>
using namespace metal;

struct Wide { uint a : 33; }; //~ bad-bit-field
struct Negative { int a : -1; }; //~ bad-bit-field
struct Zero { int a : 0; }; //~ bad-bit-field
struct Floating { float a : 3; }; //~ bad-bit-field
struct Good { uint a : 3; int b : 5; };

void take(thread uint& x) { x = 1; }

kernel void declared(device uint* out [[buffer(0)]])
{
    out[0] = sizeof(Wide) + sizeof(Negative) + sizeof(Zero) + sizeof(Floating);
}

kernel void uses(device uint* out [[buffer(0)]])
{
    Good good = {1, 2};
    thread uint* p = &good.a; //~ address-of-value
    take(good.a); //~ no-matching-function
    thread uint& r = good.a; //~ no-conversion
    out[0] = sizeof(good.b); //~ bad-sizeof
    (out[0] ? good.a : good.a) = 1; //~ not-assignable
    float4 v = 0;
    (out[0] ? v.xy : v.zw) = 1; //~ not-assignable
}
