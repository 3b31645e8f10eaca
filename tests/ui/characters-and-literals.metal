// Text that makes no token: numbers, literals and characters.
constant int number = 12abc; //~ invalid-number
constant int octal = 089; //~ invalid-number
constant char empty = ''; //~ invalid-literal
constant char wide = '\q'; //~ unknown-escape-sequence
constant int stray = 1 @ 2; //~ stray-character //~ expected-token
constant char open[] = "never closed; //~ unterminated-literal //~ expected-token
