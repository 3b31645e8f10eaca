// What may be templates or comparisons, nested so that every reading would have to be tried.
kernel void ambiguous(device int* x [[buffer(0)]])
{
    x[0] =
    f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<f<1; //~ too-ambiguous
}
