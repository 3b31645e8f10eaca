// Transposes a square matrix by tiles of 32×32, each work-item four elements.
#define TILE 32

kernel void transpose(global const float* restrict source, global float* restrict target, uint n) {
    local float tile[TILE][TILE + 1];
    size_t tx = get_local_id(0);
    size_t ty = get_local_id(1);
    size_t x = get_group_id(0) * TILE + tx;
    size_t y = get_group_id(1) * TILE;
    for (size_t row = ty; row < TILE; row += get_local_size(1)) {
        tile[row][tx] = source[(y + row) * n + x];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    x = get_group_id(1) * TILE + tx;
    y = get_group_id(0) * TILE;
    for (size_t row = ty; row < TILE; row += get_local_size(1)) {
        target[(y + row) * n + x] = tile[tx][row];
    }
}
