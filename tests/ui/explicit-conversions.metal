// Explicit conversion operators serve casts and conditions only; neither of two operators is better for an object that is not const.
#include <metal_stdlib>
using namespace metal;

struct Flag {
    int v;
    explicit operator bool() const { return v != 0; }
    explicit operator int() const { return v; }
};

struct Circular {
    thread Circular& operator->() thread { return *this; }
};

int take(bool b) { return b; }

kernel void convert(device int* x [[buffer(0)]])
{
    Flag flag = {x[0]};
    bool condition = flag ? true : !flag;
    bool direct(flag);
    bool copied = flag; //~ no-conversion
    int number = flag; //~ no-conversion
    x[1] = take(flag); //~ no-matching-function
    x[2] = flag + 1; //~ invalid-operands
    Circular circle;
    x[3] = circle->v; //~ not-a-pointer
    x[4] = condition + direct + (int)flag;
}
