// Iterations until z leaves the circle of radius 2.
kernel void mandelbrot(global uint* restrict counts, uint2 size, float4 window, uint limit) {
    uint column = get_global_id(0);
    uint row = get_global_id(1);
    if (column >= size.x || row >= size.y) {
        return;
    }
    float cx = window.x + (float)column * window.z;
    float cy = window.y + (float)row * window.w;
    float x = 0;
    float y = 0;
    uint count = 0;
    while (count < limit && x * x + y * y <= 4.0f) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        count++;
    }
    counts[(size_t)row * size.x + column] = count;
}
