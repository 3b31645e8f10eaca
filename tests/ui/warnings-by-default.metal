// What clang warns about without options. Each warning has a neighbour that must not have it.
#include <metal_stdlib>
using namespace metal;

enum Color { Red, Green, Blue };
enum Shape { Round, Square };

int no_result(int x) { x += 1; } //~ return-type: does not return a value

int perhaps_no_result(int x)
{
    if (x > 0)
        return 1;
} //~ return-type: does not return a value in all control paths

int all_cases(Color color)
{
    switch (color) {
    case Red: return 1;
    case Green: return 2;
    case Blue: return 3;
    }
}

int some_cases(Color color)
{
    switch (color) { //~ missing-case: enumeration values 'Green' and 'Blue' not handled in switch
    case Red: return 1;
    }
    switch (color) {
    case Red: return 1;
    default: return 0;
    }
}

int for_ever(int x)
{
    while (true) {
        if (x++ > 3)
            return x;
    }
}

thread int* address()
{
    int local = 1;
    return &local; //~ return-stack-address: address of stack memory associated with local variable 'local'
}

thread int& reference(int value)
{
    return value; //~ return-stack-address: reference to stack memory associated with parameter 'value'
}

thread int& passed_on(thread int& value) { return value; }

template <int N> int in_template(thread int (&x)[4])
{
    // Constants of other instances.
    if (N < 4)
        x[N] = 1;
    x[0] = N >= 4 ? x[3] : x[N] / (N < 4 ? N + 1 : 0);
    x[1] = N < 32 ? x[0] << N : x[0];
    return x[4]; //~ past-array: array index 4 is past the end of the array
}

kernel void arrays(device int* out [[buffer(0)]])
{
    int a[4] = {};
    a[4] = 1; //~ past-array: array index 4 is past the end of the array (that has type 'int[4]')
    a[-1] = 1; //~ past-array: array index -1 is before the beginning of the array
    thread int* end = &a[4];
    out[0] = int(end - a) + in_template<3>(a) + in_template<60>(a);
    device int* null = nullptr;
    out[1] = *(device int*)nullptr; //~ null-dereference
    out[2] = null == nullptr;
}

kernel void results(device int* out [[buffer(0)]])
{
    int value = 3;
    out[0] = no_result(1) + perhaps_no_result(2) + all_cases(Red) + some_cases(Blue) + for_ever(0);
    out[1] = *address() + reference(4) + passed_on(value);
}

kernel void arithmetic(device int* out [[buffer(0)]])
{
    int x = out[0];
    out[1] = x << 32; //~ shift-count-overflow: shift count >= width of type
    out[2] = x >> -1; //~ shift-count-negative: shift count is negative
    out[3] = int(1u << 32); //~ shift-count-overflow
    out[4] = x << 31;
    out[5] = x / 0; //~ division-by-zero: division by zero is undefined
    out[6] = x % 0; //~ division-by-zero: remainder by zero is undefined
    out[7] = int(float(x) / 0);
    out[8] = 2147483647 + 1; //~ integer-overflow: result is -2147483648 with type 'int'
    out[9] = int(4294967295u + 1);
    if (false)
        out[10] = x << 40;
}

kernel void conversions(device int* out [[buffer(0)]])
{
    uchar a = 300; //~ constant-conversion: from 'int' to 'uchar' changes value from 300 to 44
    char b = 200; //~ constant-conversion: changes value from 200 to -56
    uchar c = -1;
    uchar d = uchar(300);
    int e = 1.9; //~ literal-conversion: changes value from 1.9 to 1
    int f = 2.0;
    int g = 1e20f; //~ literal-conversion: out of range value
    short h;
    h = 70000; //~ constant-conversion: changes value from 70000 to 4464
    out[0] = a + b + c + d + e + f + g + h;
}

kernel void precedence(device int* out [[buffer(0)]])
{
    int a = out[0], b = out[1];
    if (a = b) //~ condition-assignment: using the result of an assignment as a condition
        out[2] = 1;
    if ((a = b))
        out[2] = 2;
    if ((a == b)) //~ parentheses-equality: equality comparison with extraneous parentheses
        out[2] = 3;
    while (a += 1) //~ condition-assignment
        break;
    if (a & b == 1) //~ bitwise-precedence: & has lower precedence than ==
        out[2] = 4;
    if ((a & b) == 1)
        out[2] = 5;
    out[3] = a << b + 1; //~ shift-op-parentheses: operator '<<' has lower precedence than '+'
    out[3] = (a << b) + 1;
    if (!a == b) //~ logical-not-parentheses: only applied to the left hand side of this comparison
        out[2] = 6;
    if (!(a == b))
        out[2] = 7;
    bool flag = a > 1;
    if (!flag == (b > 1))
        out[2] = 8;
    if (a < b < 3) //~ chained-comparison
        out[2] = 9;
    out[4] = a + (b > 1) ? 1 : 2; //~ conditional-precedence
    out[5] = a & (b > 1) ? 1 : 2; //~ bitwise-conditional-parentheses
}

kernel void comparisons(device int* out [[buffer(0)]])
{
    int a = out[0];
    uchar c = uchar(out[1]);
    Color color = Color(out[2]);
    Shape shape = Shape(out[3]);
    bool flag = a > 0;
    if (a == a) //~ tautological-compare: self-comparison always evaluates to true
        out[4] = 1;
    float f = float(a);
    if (f != f)
        out[4] = 2;
    if (c == 256) //~ tautological-constant-out-of-range-compare: constant 256 with expression of type 'uchar'
        out[4] = 3;
    if (c < 255)
        out[4] = 4;
    if (color == shape) //~ enum-compare: different enumeration types ('Color' and 'Shape')
        out[4] = 5;
    a = a; //~ self-assign: explicitly assigning value of variable of type 'int' to itself
    switch (flag) { //~ switch-bool: switch condition has boolean value
    case true: out[4] = 6;
    }
}

kernel void statements(device int* out [[buffer(0)]])
{
    int a = out[0];
    a + 1; //~ unused-value: expression result unused
    a; //~ unused-value
    (char)a; //~ unused-value: should this cast be to 'void'?
    (void)a;
    a < 1; //~ unused-comparison: relational comparison result unused
    a ? a++ : 0;
    if (a); //~ empty-body: if statement has empty body
    if (a)
        ;
    for (int i = 0; i < 3; i++);
    while (a); //~ empty-body: while loop has empty body
    {
        a++;
    }
    if (a)
        if (out[1]) out[2] = 1;
        else out[2] = 2; //~ dangling-else
}

[[nodiscard]] int needed() { return 1; }

kernel void constants_and_order(device float* out [[buffer(0)]])
{
    out[0] = 1e39; //~ literal-range: magnitude of floating-point constant too large for type 'float'
    out[1] = 1e-46f; //~ literal-range: magnitude of floating-point constant too small for type 'float'
    out[2] = 1e38 + 1e-44;
    half large = 1e5h; //~ literal-range: too large for type 'half'
    float near = 16777217; //~ implicit-const-int-float-conversion: changes value from 16777217 to 16777216
    float exact = 16777216;
    needed(); //~ unused-result: ignoring return value of function declared with 'nodiscard' attribute
    (void)needed();
    int i = needed();
    out[3] = i++ + i; //~ unsequenced: unsequenced modification and access to 'i'
    out[4] = i++ * i--; //~ unsequenced: multiple unsequenced modifications to 'i'
    i = i + 1;
    out[5] = (i++, i) + large + near + exact;
    out[i++] = 1;
}
