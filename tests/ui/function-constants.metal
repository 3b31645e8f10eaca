// Function constants: their types, indices and queries.
#include <metal_stdlib>
using namespace metal;

struct Pair { int a, b; };

constant Pair pair [[function_constant(0)]]; //~ function-constant-type
constant int large [[function_constant(65536)]]; //~ function-constant-index
constant int indexed [[function_constant]]; //~ attribute-argument: takes an index

kernel void types(device int* x [[buffer(0)]]) { x[0] = pair.a; }

kernel void index_of_constant(device int* x [[buffer(0)]]) { x[0] = large; }

kernel void no_index(device int* x [[buffer(0)]]) { x[0] = indexed; }

kernel void query(device int* x [[buffer(0)]])
{
    x[0] = is_function_constant_defined(x[1]); //~ function-constant-expected
}
