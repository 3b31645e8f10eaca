// Constructors defined outside of their class, of nested classes and (final) classes of a namespace too.
//! covers: C++ class.ctor
//! oracle: clang
//! kernel: made
//! arg 0: i32 0*4
//! expect 0: i32 6 5 9 11

#include <metal_stdlib>
using namespace metal;

struct Outer
{
    int v;
    struct Inner
    {
        int a;
        Inner(int q);
        Inner(int q, int r);
        int twice() const;
    };
    Outer(int start);
};

Outer::Inner::Inner(int q) : a(q) {}
Outer::Inner::Inner(int q, int r) : Inner(q + r) {}
int Outer::Inner::twice() const { return 2 * a; }
Outer::Outer(int start) : v(start + 1) {}

namespace grid
{
    struct Cell final
    {
        uint2 at;
        Cell(uint2 place);
    };
}
grid::Cell::Cell(uint2 place) : at(place + 1) {}

kernel void made(device int* out [[buffer(0)]])
{
    Outer::Inner one(3), two(1, 2);
    Outer outer(4);
    const grid::Cell cell{uint2(8, 10)};
    out[0] = one.twice() + two.twice() - 6;
    out[1] = outer.v;
    out[2] = cell.at.x;
    out[3] = cell.at.y;
}
