// A few macros that make a string literal of more than a mebibyte.
#define S1 "0123456789abcdef" "0123456789abcdef" "0123456789abcdef" "0123456789abcdef"
#define S2 S1 S1 S1 S1 S1 S1 S1 S1 S1 S1 S1 S1 S1 S1 S1 S1
#define S3 S2 S2 S2 S2 S2 S2 S2 S2 S2 S2 S2 S2 S2 S2 S2 S2
#define S4 S3 S3 S3 S3 S3 S3 S3 S3 S3 S3 S3 S3 S3 S3 S3 S3
#define S5 S4 S4 S4 S4
constant char text[] = S5; //~ literal-too-long
