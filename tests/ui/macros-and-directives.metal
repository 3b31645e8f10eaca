// Directives and macro definitions that are wrong. Text after them is still read.
#inlcude "other.h" //~ unknown-directive: unknown directive `#inlcude`
#include nowhere //~ invalid-include
#define defined 1 //~ invalid-macro: `defined` cannot be the name of a macro
#define HASH(x) #y //~ invalid-macro
#line nowhere //~ invalid-line-directive
#warning this is only told //~ warning-directive: this is only told
#undef HASH and more //~ extra-tokens

#define WIDTH 4
#define WIDTH 5 //~ macro-redefined: `WIDTH`

#define ADD(a, b) a + b
int too_many = ADD(1, 2, 3); //~ macro-argument-count: takes 2 arguments, but 3 given //~ expected-expression

#define PASTE(a, b) a##b
int pasted = PASTE(+, -); //~ invalid-paste: pasting gives `+-` //~ expected-expression

#define TEXT(x) #x
constant char text[] = TEXT(\); //~ invalid-stringise

_Pragma(unroll) //~ invalid-pragma //~ expected-declaration

int never_closed = ADD(1, 2; //~ unterminated-macro-call
