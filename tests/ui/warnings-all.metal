// warnings: -Wall
#include <metal_stdlib>
using namespace metal;

static void never_called() {} //~ unused-function: unused function 'never_called'

int recursive(int x) //~ infinite-recursion
{
    if (x > 2)
        return recursive(x - 1);
    return recursive(x + 1);
}

int counted(int x) { return x > 0 ? counted(x - 1) : 0; }

int unset()
{
    int x;
    return x; //~ uninitialized: variable 'x' is uninitialized when used here
}

int sometimes(bool flag)
{
    int x;
    if (flag) //~ sometimes-uninitialized: used uninitialized whenever 'if' condition is false
        x = 1;
    return x;
}

int always_set(bool flag)
{
    int x;
    if (flag)
        x = 1;
    else
        x = 2;
    return x;
}

int set_by_reference(thread int& x) { return x = 1; }

int unknown_to_the_compiler(bool flag, int n)
{
    int a, b, c;
    for (int i = 0; i < n; i++)
        a = i;
    switch (n) {
    case 1: b = 2; break;
    default: b = 3;
    }
    if (flag)
        c = 1;
    if (flag)
        return a + b + c;
    int d;
    return set_by_reference(d) + d;
}

kernel void all(device int* out [[buffer(0)]], uint id [[thread_position_in_grid]])
{
    int unused; //~ unused-variable: unused variable 'unused'
    int only_set; //~ unused-but-set-variable: variable 'only_set' set but not used
    only_set = 3;
    [[maybe_unused]] int permitted = 4;
    const int length = 2;
#pragma unroll(length)
    for (int i = 0; i < 4; i++)
        out[i] = i;
    int a = out[0], b = out[1];
    if (a || b && out[2]) //~ logical-op-parentheses: '&&' within '||'
        out[3] = 1;
    if (a || (b && out[2]))
        out[3] = a | b & 1; //~ bitwise-op-parentheses: '&' within '|'
    if ((a & 8) == 4) //~ tautological-bitwise-compare: always evaluates to false
        out[4] = 1;
    if ((a & 12) == 4)
        out[4] = 1;
    if (a)
        out[5] = 1;
        out[6] = 2; //~ misleading-indentation: statement is not part of the previous 'if'
    out[7] = recursive(1) + counted(2) + unset() + sometimes(true) + always_set(false);
    out[8] = unknown_to_the_compiler(true, 3);
}
#pragma unheard of //~ unknown-pragmas
