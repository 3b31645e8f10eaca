// A file that includes itself without end; the annotation is in the included file.
#include "endless.metal"

kernel void fine(device float* x [[buffer(0)]]) { x[0] = 1.0f; }
