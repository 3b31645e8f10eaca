// A brace too many.
kernel void k(device float* x [[buffer(0)]])
{
    if (x[0] > 0)
        x[0] = 1;
    }
} //~ unmatched-brace
