// `#pragma unused` is not the body of a statement.
#include <metal_stdlib>

kernel void misplaced(device int* out [[buffer(0)]], uint i [[thread_position_in_grid]])
{
    if (i == 3)
#pragma unused(i) //~ misplaced-pragma: at file scope or in a block
        out[i] = 1;
}
