// Statements and expressions that cannot be parsed.
#include <metal_stdlib>
using namespace metal;

kernel void expressions(device float* x [[buffer(0)]])
{
    x[0] = ; //~ expected-expression
    x[1] = while; //~ expected-expression
    x[2] = static_cast<>(x[3]); //~ expected-type: a type in the cast
}

kernel void not_in_metal(device int* x [[buffer(0)]])
{
    goto end; //~ unsupported-feature: no `goto`
    int* heap = new int; //~ unsupported-feature: no `new`
}

kernel void labels(device int* x [[buffer(0)]])
{
    if (x[0])
        case 1: x[1] = 2; //~ misplaced-label
}

kernel void returns(device int* x [[buffer(0)]])
{
    x[0] = ({ if (x[1]) return; 1; }); //~ unsupported-feature: inside of a statement expression
    x[1] = ({ auto three = [] { return 3; }; three(); });
    x[2] = ({ struct Three { int value() { return 3; } } three; three.value(); });
}

kernel void open_block(device int* x [[buffer(0)]])
{
    x[0] = 1;
// The end of the text is here: //~ unclosed-brace