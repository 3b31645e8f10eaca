// A 5×5 binomial blur of a grey picture; the border repeats.
constant float weights[5] = {1.0f / 16, 4.0f / 16, 6.0f / 16, 4.0f / 16, 1.0f / 16};

kernel void blur(global const float* restrict source, global float* restrict target, uint2 size) {
    int column = get_global_id(0);
    int row = get_global_id(1);
    if (column >= (int)size.x || row >= (int)size.y) {
        return;
    }
    float sum = 0;
    for (int dy = -2; dy <= 2; dy++) {
        int y = clamp(row + dy, 0, (int)size.y - 1);
        for (int dx = -2; dx <= 2; dx++) {
            int x = clamp(column + dx, 0, (int)size.x - 1);
            sum += weights[dy + 2] * weights[dx + 2] * source[y * (int)size.x + x];
        }
    }
    target[row * (int)size.x + column] = sum;
}
