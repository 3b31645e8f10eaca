// Directives that are wrong.
#include "no-such-file.h" //~ missing-include
#error this is told //~ error-directive: this is told

kernel void fine(device float* x [[buffer(0)]])
{
    x[0] = 1.0f;
}
