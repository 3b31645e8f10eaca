// Qualifiers of pointers to pointers: a conversion adds them only where no pointer to less can be stored.

#include <metal_stdlib>
using namespace metal;

typedef thread int* pointer;
typedef thread const int* const_pointer;

kernel void levels(device int* out)
{
    int x = 1;
    pointer p = &x;
    thread const_pointer* stores = &p; //~ no-conversion
    const_pointer c = &x;
    thread const pointer* drops = &c; //~ no-conversion
    thread float* f = 0;
    thread float* thread* ff = &f;
    out[0] = &p == ff; //~ invalid-operands
    out[1] = &p - ff; //~ invalid-operands
    device int* thread* other = &out;
    out[2] = &p == other; //~ invalid-operands
}
