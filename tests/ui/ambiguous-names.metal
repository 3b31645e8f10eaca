// Names, bases and conversions that mean several things (C++14 [class.member.lookup], [namespace.udir],
// [over.best.ics]).
#include <metal_stdlib>
using namespace metal;

struct Left { int x; int y; typedef int type; void act(int) thread {} static int count() { return 1; } };
struct Right { int x; void y() thread {} typedef float type; void act(float) thread {} };
struct Both : Left, Right {};
struct Top { int x; static int count() { return 1; } void act() thread {} };
struct Twice : Left, Left {}; //~ bad-base
struct First : Top {};
struct Second : Top { int hides; };
struct Hides : Top { int x; };
struct Diamond : First, Second {};
struct Crossed : Hides, Second {};
template <int N> struct Indexed { int value; };
struct TwoIndexed : Indexed<1>, Indexed<2> {};

namespace one { constant int number = 1; struct Thing {}; typedef int alias; enum Kind { kind }; void f(int) {} }
namespace two { constant int number = 2; struct Thing {}; typedef float alias; enum Sort { kind }; constant int f = 1; }
namespace three { using namespace one; using namespace two; }

struct Source;
struct Target { Target() {} Target(const thread Source&) {} };
struct Source { operator Target() const { return Target(); } };
struct Numbers { operator int() const { return 1; } operator float() const { return 2; } };
struct FromNumbers { FromNumbers(int) {} FromNumbers(float) {} };
struct FromInt { FromInt(int) {} };
struct AlsoFromInt { AlsoFromInt(int) {} };

void take(Target t) {}
void take_top(Top t) {}
void take_numbers(FromNumbers t) {}
void take_either(FromInt) {}
void take_either(AlsoFromInt) {}

kernel void members(device int* out [[buffer(0)]])
{
    Both both;
    both.x = 1; //~ ambiguous-member
    both.y = 1; //~ ambiguous-member
    both.act(1); //~ ambiguous-member
    Both::type t; //~ ambiguous-member
    both.Left::x = Both::count();
    TwoIndexed indexed;
    indexed.value = 1; //~ ambiguous-member
}

kernel void twice(device int* out [[buffer(0)]])
{
    Twice twice;
}

kernel void bases(device int* out [[buffer(0)]])
{
    Diamond diamond;
    diamond.x = 1; //~ ambiguous-member
    diamond.act(); //~ ambiguous-member
    diamond.First::x = Diamond::count();
    thread Top& top = diamond; //~ ambiguous-base
    thread Top* pointer = &diamond; //~ ambiguous-base
    take_top(diamond); //~ ambiguous-base
    thread First& first = diamond;
    Crossed crossed;
    crossed.x = 1; //~ ambiguous-member
}

kernel void directives(device int* out [[buffer(0)]])
{
    using namespace one;
    using namespace two;
    out[0] = number; //~ ambiguous-name
    Thing thing; //~ ambiguous-name
    alias a; //~ ambiguous-name
    out[1] = kind; //~ ambiguous-name
    f(1); //~ ambiguous-name
    out[2] = three::number; //~ ambiguous-name
    out[3] = one::number;
}

kernel void conversions(device int* out [[buffer(0)]])
{
    Source source;
    Target target = source; //~ ambiguous-conversion
    take(source); //~ ambiguous-conversion
    Numbers numbers;
    short small = numbers; //~ ambiguous-conversion
    int exact = numbers;
    out[0] = numbers + 1; //~ ambiguous-conversion
    if (numbers) {} //~ ambiguous-conversion
    take_numbers(1L); //~ ambiguous-conversion
    take_numbers(1);
    take_either(1); //~ ambiguous-call
}
