// Copies of views that are not contiguous into contiguous memory.
kernel void copy_grid(global const float* restrict source, global float* restrict target, uint4 shape,
                      uint4 strides) {
    size_t x = get_global_id(0);
    size_t y = get_global_id(1);
    size_t z = get_global_id(2);
    size_t outer = z / shape.y;
    size_t inner = z - outer * shape.y;
    size_t from = outer * strides.x + inner * strides.y + y * strides.z + x * strides.w;
    size_t to = x + get_global_size(0) * (y + get_global_size(1) * z);
    target[to] = source[from];
}

kernel void copy_flat(global const float* restrict source, global float* restrict target, uint n,
                      constant uint* shape, constant uint* strides, uint dimensions) {
    uint i = get_global_id(0);
    if (i >= n) {
        return;
    }
    uint rest = i;
    uint from = 0;
    for (uint d = 0; d < dimensions; d++) {
        uint dimension = dimensions - 1 - d;
        from += (rest % shape[dimension]) * strides[dimension];
        rest /= shape[dimension];
    }
    target[i] = source[from];
}
