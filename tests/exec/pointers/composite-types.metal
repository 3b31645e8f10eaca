// Pointers whose types differ in qualifiers at some level: compared, subtracted, chosen and converted.
//! kernel: levels
//! arg 0: i32 0*12
//! expect 0: i32 0 1 1 7 9 7 1 0 -2 7 3 9
//! kernel: classes
//! arg 0: i32 0*4
//! expect 0: i32 1 5 6 5

#include <metal_stdlib>
using namespace metal;

typedef thread int* pointer;
typedef thread const int* const_pointer;
typedef thread volatile int* volatile_pointer;

int by_level(thread const_pointer const* const& p) { return **p; }

kernel void levels(device int* out)
{
    int x = 7, y = 9;
    pointer all[3] = {&x, &y, &x};
    const_pointer constants[2] = {&x, &y};
    thread pointer* p = all;
    thread const_pointer* c = constants;
    out[0] = p == c;
    out[1] = p != c;
    thread const const_pointer* both = p;
    out[2] = both == p;
    out[3] = **both;
    all[0] = &y;
    out[4] = **both;
    out[5] = **(x == 7 ? c : p);
    volatile_pointer v = &x;
    const_pointer k = &x;
    out[6] = v == k;
    out[7] = v < k || v > k;
    out[8] = both - (p + 2);
    out[9] = *(y == 9 ? v : k);
    thread pointer* const* third = &p;
    thread const pointer* const* deep = third;
    out[10] = (deep == third) + 2 * (*deep == both);
    out[11] = by_level(p);
}

struct Base { int a; };
struct Derived : Base { int b; };

kernel void classes(device int* out)
{
    Derived derived;
    derived.a = 5;
    derived.b = 6;
    thread const Derived* d = &derived;
    thread Base* b = &derived;
    out[0] = d == b;
    out[1] = (out[0] ? d : b)->a;
    out[2] = d->b;
    out[3] = b->a;
}
