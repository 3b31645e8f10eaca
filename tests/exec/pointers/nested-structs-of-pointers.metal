// Structs of pointers that functions build, copy and return keep their pointers, in members of members, too, and
// in an array whose index is known at run time only.
//! arg 1: i32 2 3 5
//! arg 2: i32 7 11 13
//! arg 3: i32 1
//! kernel: nested
//! arg 0: i32 0*3
//! expect 0: i32 95 41 95
//! kernel: chosen
//! arg 0: i32 0*2
//! expect 0: i32 11 2
//! oracle: exact

#include <metal_stdlib>
using namespace metal;

template <ushort D>
struct Strides {
    constant const int* counts;
    constant const int* strides;
    Strides<D - 1> next {counts, strides};

    int sum() const { return counts[D - 1] * strides[D - 1] + next.sum(); }
};

template <>
struct Strides<1> {
    constant const int* counts;
    constant const int* strides;

    int sum() const { return counts[0] * strides[0]; }
};

Strides<3> made(constant const int* counts, constant const int* strides)
{
    Strides<3> made {counts, strides};
    return made;
}

// 2 * 7 + 3 * 11 + 5 * 13 = 112; of the first two 47.
kernel void nested(device int* out [[buffer(0)]], constant int* a [[buffer(1)]], constant int* b [[buffer(2)]])
{
    Strides<3> first = made(a, b);
    Strides<3> second = first;
    out[0] = second.sum() - 17;
    out[1] = second.next.sum() - 6;
    Strides<3> moved = made(a, b);
    moved.next = second.next;
    out[2] = moved.sum() - 17;
}

struct Pair {
    constant const int* pointer;
    int offset;
    int padding;
};

Pair paired(constant const int* pointer, int offset) { return Pair {pointer, offset, 0}; }

kernel void chosen(device int* out [[buffer(0)]], constant int* a [[buffer(1)]], constant int* b [[buffer(2)]],
    constant int& index [[buffer(3)]])
{
    Pair pairs[2];
    pairs[0] = paired(a, 0);
    pairs[1] = paired(b, 1);
    Pair one = pairs[index];
    out[0] = one.pointer[one.offset];
    Pair other = pairs[1 - index];
    out[1] = other.pointer[other.offset];
}
