// Pointers and references need an address space on a Mac.
// checked
// warnings: -Wmissing-address-space
#include <metal_stdlib>
using namespace metal;

struct List {
    int* first; //~ missing-address-space: pointer type must have an explicit address space qualifier
    thread int* second;
};

static int sum(int& x, const thread int& y) //~ missing-address-space: reference type
{
    return x + y;
}

typedef device float device_float;
using Operation = int (*)(int);

template <typename T> void fill(thread T* to, T x)
{
    T* other = to; //~ missing-address-space
    *other = x;
}

kernel void k(device int* out [[buffer(0)]], device_float* floats [[buffer(1)]])
{
    thread int* thread* nested = nullptr;
    int* thread* inner = nullptr; //~ missing-address-space
    int x = 1;
    auto* deduced = &x;
    auto& bound = x;
    List list = {&x, &x};
    fill(&x, 2);
    floats[0] = *(float*)&x; //~ missing-address-space
    out[0] = sum(bound, *deduced) + (nested == nullptr) + (inner == nullptr) + *list.first;
}
