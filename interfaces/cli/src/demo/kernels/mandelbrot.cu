// Iterations until z leaves the circle of radius 2.
extern "C" __global__ void mandelbrot(unsigned* __restrict__ counts, uint2 size, float4 window, unsigned limit) {
    unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= size.x || row >= size.y) {
        return;
    }
    float cx = window.x + (float)column * window.z;
    float cy = window.y + (float)row * window.w;
    float x = 0;
    float y = 0;
    unsigned count = 0;
    while (count < limit && x * x + y * y <= 4.0f) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        count++;
    }
    counts[(size_t)row * size.x + column] = count;
}
