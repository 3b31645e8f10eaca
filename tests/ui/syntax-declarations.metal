// Declarations that cannot be parsed.
#include <metal_stdlib>
using namespace metal;

float declared(float x);
declared(float x) { return x; } //~ missing-type
f(float x) { return x; } //~ expected-name: expected a name after the type
= 3; //~ expected-declaration

struct { int x; }; //~ unnamed-record
struct Derived : 3 { int x; }; //~ expected-type: a base class

kernel void attribute(device float* x [[3]]) {} //~ expected-name: an attribute's name

struct Shape
{
    virtual float area() const; //~ unsupported-feature
    float operator?(int other); //~ expected-operator
};

template <template <typename> T> //~ expected-token
void generic() {}

template <3> void nothing() {} //~ expected-type: a template parameter

kernel void spaces(device constant float* x [[buffer(0)]]) {} //~ two-address-spaces

device float loaded(device float* x); //~ two-address-spaces: return type cannot be qualified

struct Number
{
    int n;
    Number operator!(Number other); //~ operator-operands: must be a unary operator (it has 2 operands)
    Number operator-(Number other);
    int operator[](); //~ operator-operands: must be a binary operator
    int operator[](int row, int column);
};
Number operator*(Number a, Number b, Number c); //~ operator-operands: a unary or binary operator

void references(thread int& thread& x); //~ reference-to-reference
