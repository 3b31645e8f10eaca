// Members that several bases have: hidden, qualified, brought together by using-declarations, and operators.
//! covers: C++ class.member.lookup
//! covers: C++ namespace.udir
//! covers: C++ over.match.conv
//! oracle: clang
//! kernel: names
//! arg 0: i32 0*12
//! expect 0: i32 1 2 3 10 20 7 5 6 1 4 9 3

#include <metal_stdlib>
using namespace metal;

struct Left { int x; int act(int) { return 10; } static int count() { return 7; } };
struct Right { int x; int act(float) { return 20; } };
struct Both : Left, Right { using Left::act; using Right::act; };
struct Hides : Left, Right { int x; };

struct Top { int x; static int count() { return 7; } enum { number = 5 }; };
struct First : Top { int get() { return Top::x; } };
struct Second : Top { int y; };
struct Diamond : First, Second { int sum() { return First::x + Second::x; } };

namespace one { constant int number = 1; int pick(int) { return 1; } typedef int alias; }
namespace two { using one::number; int pick(float) { return 4; } typedef int alias; }
using namespace one;
using namespace two;

struct Numbers { operator int() const { return 9; } operator float() const { return 2.5f; } };
struct Source;
struct Target { int n; Target(int n) : n(n) {} Target(const thread Source&) : n(1) {} };
struct Source { operator Target() { return Target(3); } };

kernel void names(device int* out [[buffer(0)]])
{
    Both both;
    both.Left::x = 1;
    both.Right::x = 2;
    out[0] = both.Left::x;
    out[1] = both.Right::x;
    Hides hides;
    hides.x = 3;
    out[2] = hides.x;
    out[3] = both.act(1);
    out[4] = both.act(1.0f);
    out[5] = Diamond::count();
    out[6] = Diamond::number;
    Diamond diamond;
    diamond.First::x = 2;
    diamond.Second::x = 4;
    out[7] = diamond.sum() + diamond.get() - 2;
    alias known = number;
    out[8] = known;
    out[9] = pick(1.0f);
    Numbers numbers;
    int n = numbers;
    out[10] = n;
    Source source;
    Target target = source;
    out[11] = target.n;
}
