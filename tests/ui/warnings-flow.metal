// warnings: -Wall
// Ways on which a variable has no value, and loops that nothing ends.
// checked
#include <metal_stdlib>
using namespace metal;

int in_switch(int n)
{
    int x;
    switch (n) { //~ sometimes-uninitialized: whenever switch default is taken
    case 1: x = 1; break;
    case 2: x = 2; break;
    }
    return x;
}

int in_case(int n)
{
    int x;
    switch (n) {
    case 1: x = 1; break;
    case 2: break; //~ sometimes-uninitialized: whenever switch case is taken
    default: x = 3;
    }
    return x;
}

enum Side { Left, Right };
int of_all_enumerators(Side side)
{
    int x;
    switch (side) {
    case Left: x = 1; break;
    case Right: x = 2; break;
    }
    return x;
}

int out_of_for(int n)
{
    int x;
    for (int i = 0; i < n; i++) { //~ sometimes-uninitialized: whenever 'for' loop exits because its condition is false
        x = i;
        break;
    }
    return x;
}

int out_of_while(int n)
{
    int x;
    while (n > 0) { //~ sometimes-uninitialized: whenever 'while' loop exits
        if (n == 5) {
            x = n;
            break;
        }
        n--;
    }
    return x;
}

int never_set_in_loop(int n)
{
    int x;
    for (int i = 0; i < n; i++)
        n += x; //~ uninitialized: variable 'x' is uninitialized when used here
    return n;
}

int set_in_an_earlier_round(int n)
{
    int x;
    for (int i = 0; i < n; i++) {
        if (i > 0)
            n -= x;
        x = i;
    }
    return n;
}

int set_by_some_rounds(int n)
{
    int x, y;
    for (int i = 0; i < n; i++)
        x = i;
    do {
        y = n--;
    } while (n > 0);
    while (true) {
        int z;
        if (n++ > 5) {
            z = 1;
            return x + y + z;
        }
        continue;
    }
}

int of_conditional(bool flag, int n)
{
    int x;
    n += flag ? (x = 1) : 0; //~ sometimes-uninitialized: whenever '?:' condition is false
    return x;
}

int of_conjunction(bool flag, int n)
{
    int x;
    if (flag && (x = n) > 1)
        return x;
    return 0;
}

int without_end(int n)
{
    int j = 0, sum = 0;
    for (int i = 0; j < n; i++) //~ for-loop-analysis: variables 'j' and 'n' used in loop condition not modified
        sum += i;
    for (int i = 0; j < n; i++) {
        if (i > 3)
            break;
    }
    for (int i = 0; j < n; j++)
        sum += i;
    for (int i = 0; i < n; i++) {
        sum++;
        i++; //~ for-loop-analysis: variable 'i' is incremented both in the loop header and in the loop body
    }
    for (int i = 0; i < n; i++) {
        if (sum > 3)
            continue;
        i++;
    }
    return sum;
}

struct Inner { int a, b; };
struct Outer { Inner inner; int c; };
struct Wrapped { int values[3]; };

int lists()
{
    typedef int Unused; //~ unused-local-typedef: unused typedef 'Unused'
    using Length = int; //~ unused-local-typedef: unused type alias 'Length'
    using Number = int;
    Outer without = {1, 2, 3}; //~ missing-braces: suggest braces around initialization of subobject
    Outer with = {{1, 2}, 3};
    Wrapped usual = {1, 2, 3};
    array<Number, 3> numbers = {1, 2, 3};
    return without.c + with.c + usual.values[0] + numbers[0];
}
