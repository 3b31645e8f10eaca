// Pragmas that print or poison, and operators of conditions with wrong operands.
#define TEXT "from a macro"
#pragma message(wrong) //~ invalid-pragma: expected string literal in pragma message
#pragma message //~ invalid-pragma: pragma message requires parenthesized string
#pragma GCC warning("open" //~ invalid-pragma: pragma warning requires parenthesized string
#pragma GCC warning "printed " TEXT //~ warning-directive: printed from a macro
#pragma GCC error("stops " TEXT) //~ error-directive: stops from a macro
#pragma GCC poison forbidden
#pragma GCC poison forbidden
#ifdef forbidden //~ poisoned-name
#endif
#define PASTED for ## bidden
constant int PASTED = 2; //~ poisoned-name
#pragma clang fp //~ invalid-pragma: missing option
#pragma clang fp fast(on) //~ invalid-pragma: invalid option
#pragma clang fp contract on //~ invalid-pragma: expected `(`
#pragma clang fp contract(maybe) //~ invalid-pragma: is one of fast, on, off
#pragma clang fp contract(fast //~ invalid-pragma: expected `)`
#pragma clang fp exceptions(ignore) reassociate(on) contract(off)

#if defined xor //~ invalid-condition: C++ operator `xor` used as a macro name
#endif
#ifdef and //~ invalid-condition: C++ operator `and` used as a macro name
#endif
#if or //~ invalid-condition: invalid token at start
#endif
#if __has_feature('x') //~ invalid-condition: requires a parenthesized identifier
#endif
#if __is_identifier(abc xyz) //~ invalid-condition: missing `)`
#endif
#if __has_warning(unused) //~ invalid-condition: expected string literal
#endif
#if __has_include("none") || __has_warning("-Wall") || __is_identifier(abc) || defined TEXT and 1
#endif
constant int stray = __has_include + 1; //~ invalid-condition: must be used within a preprocessing directive

kernel void semicolons(device int* p [[buffer(0)]])
{
    int forbidden = 1; //~ poisoned-name
    int list[] = {1, 2;}; //~ expected-token: unexpected `;` before `}`
    p[0;] = list[0]; //~ expected-token: unexpected `;` before `]`
    while (p[0] < 2;) //~ expected-token: unexpected `;` before `)`
        p[0] += 1;
    switch (p[0])
    {
        case 1 //~ expected-token: expected `:`
            p[1] = 1;
    }
}
