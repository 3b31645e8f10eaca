// Types that cannot exist or are not complete.
#include <metal_stdlib>
using namespace metal;

struct Declared;
struct Endless { Endless inner; }; //~ incomplete-type
struct OfNumber : float { int x; }; //~ bad-base
struct OfNothing { void member; }; //~ bad-member-type
struct Twice { int a; float a; }; //~ redefinition
struct alignas(3) Odd { int a; }; //~ bad-alignment
enum Fraction : float { half_value }; //~ enum-type

kernel void declared(device int* x [[buffer(0)]])
{
    Declared object; //~ incomplete-type: declared but not defined
}

kernel void endless(device Endless* x [[buffer(0)]]) { x[0] = x[1]; }
kernel void of_number(device OfNumber* x [[buffer(0)]]) { x[0] = x[1]; }
kernel void of_nothing(device OfNothing* x [[buffer(0)]]) { x[0] = x[1]; }
kernel void twice(device Twice* x [[buffer(0)]]) { x[0] = x[1]; }
kernel void odd(device Odd* x [[buffer(0)]]) { x[0] = x[1]; }
kernel void fraction(device int* x [[buffer(0)]]) { x[0] = half_value; }

using Number = int;
using DeviceNumber = device int;

kernel void pointers(device int* x [[buffer(0)]])
{
    threadgroup DeviceNumber* other; //~ conflicting-spaces
    int&* to_reference; //~ pointer-to-reference
    void& of_void; //~ reference-to-void
}

struct Loop { using type = typename Loop::type; }; //~ recursive-alias

kernel void aliases(device int* x [[buffer(0)]])
{
    Loop::type value;
    Number::type member; //~ not-a-class
    x[0] = x::y; //~ not-a-scope
    x[1] = __is_fruit(int); //~ unknown-trait
}
