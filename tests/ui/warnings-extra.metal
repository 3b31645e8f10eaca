// warnings: -Wextra -Wshadow
#include <metal_stdlib>
using namespace metal;

const int qualified() { return 1; } //~ ignored-qualifiers: 'const' type qualifier on return type has no effect
const thread int* pointer_to_const(thread int* x) { return x; }

int unused_parameters(int used, int unused, int) //~ unused-parameter: unused parameter 'unused'
{
    return used;
}

struct Members { int a; float b; int c = 3; };
int missing_members()
{
    Members some = {1}; //~ missing-field-initializers: missing field 'b' initializer
    Members named = {.b = 1}; //~ missing-field-initializers: missing field 'a' initializer
    Members none = {}, all = {1, 2, 3}, all_but_default = {1, 2};
    return some.a + named.a + none.a + all.a + all_but_default.a;
}

template <typename T> bool is_less(T a, uint b)
{
    return a < b; //~ sign-compare: comparison of integers of different signs: 'int' and 'uint'
}

kernel void extra(device int* out [[buffer(0)]], uint id [[thread_position_in_grid]])
{
    int a = out[0];
    uint u = id;
    ushort s = ushort(id);
    if (u < a) //~ sign-compare: comparison of integers of different signs: 'uint' and 'int'
        out[1] = 1;
    if (u < 5 || s < a || u == 5 || (a & 7) < u || a % 2 == 1 || long(a) < u)
        out[1] = 2;
    {
        int a = out[2]; //~ shadow: declaration shadows a local variable
        out[3] = a;
    }
    {
        int other = out[2];
        out[3] = other;
    }
    int other = 1;
    out[4] = other + qualified() + unused_parameters(1, 2, 3) + *pointer_to_const(&a);
    out[5] = is_less(a, u) || is_less(u, u) || is_less(a + 1, u);
    out[6] = missing_members();
}
