// A 5×5 binomial blur of a grey picture; the border repeats.
__constant__ float weights[5] = {1.0f / 16, 4.0f / 16, 6.0f / 16, 4.0f / 16, 1.0f / 16};

extern "C" __global__ void blur(const float* __restrict__ source, float* __restrict__ target, uint2 size) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= (int)size.x || row >= (int)size.y) {
        return;
    }
    float sum = 0;
    for (int dy = -2; dy <= 2; dy++) {
        int y = min(max(row + dy, 0), (int)size.y - 1);
        for (int dx = -2; dx <= 2; dx++) {
            int x = min(max(column + dx, 0), (int)size.x - 1);
            sum += weights[dy + 2] * weights[dx + 2] * source[y * (int)size.x + x];
        }
    }
    target[row * (int)size.x + column] = sum;
}
