// Softmax of each row; one work-group of 256 a row.
kernel void softmax(global const float* restrict source, global float* restrict target, uint columns) {
    local float shared[256];
    size_t tid = get_local_id(0);
    size_t width = get_local_size(0);
    global const float* in = source + get_group_id(0) * columns;
    global float* out = target + get_group_id(0) * columns;

    float greatest = -INFINITY;
    for (size_t c = tid; c < columns; c += width) {
        greatest = fmax(greatest, in[c]);
    }
    greatest = group_max(greatest, shared);

    float sum = 0;
    for (size_t c = tid; c < columns; c += width) {
        float e = exp(in[c] - greatest);
        out[c] = e;
        sum += e;
    }
    float scale = 1.0f / group_sum(sum, shared);
    for (size_t c = tid; c < columns; c += width) {
        out[c] *= scale;
    }
}
