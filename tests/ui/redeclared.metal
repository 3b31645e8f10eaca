#include <metal_stdlib>
using namespace metal;

struct Twice {};
struct Twice {}; //~ redefinition

enum First { a };
enum Second { a }; //~ redefinition

constant int value = 1;
constant int value = 2; //~ redefinition

typedef int Name;
void Name(); //~ redefinition

// What needs no report: a class may be declared often, and share its name with a function.
struct Thing;
struct Thing {};
void Thing();

kernel void k(device int* x [[buffer(0)]])
{
    x[0] = 1;
}
