// y = a·x + y
kernel void saxpy(global const float* restrict x, global float* restrict y, float a, uint n) {
    size_t i = get_global_id(0);
    if (i < n) {
        y[i] = fma(a, x[i], y[i]);
    }
}
