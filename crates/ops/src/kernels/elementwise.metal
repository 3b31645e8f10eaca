// Kernels of elementwise functions of one, two and three tensors. Macros: T0 to T3 are the stored types of
// output and inputs, C the type that is computed in, OP the function, S0 to S3 the inner strides; FLAT: one
// dimension of the grid walks over all positions.

kernel void map1(device T0* out [[buffer(0)]],
                 device const T1* a [[buffer(1)]],
                 constant Layout& l [[buffer(2)]],
                 constant float4& p [[buffer(3)]],
                 uint2 at [[thread_position_in_grid]]) {
    out[AT(0, S0)] = T0(OP(C(a[AT(1, S1)]), p));
}

#ifdef TILE
// Copies where neighbours of the source are along a dimension that is not the innermost one of the
// output: tiles go through threadgroup memory. z counts the matrices of both dimensions; `steps`
// are the strides of the output's rows and the source's columns.
kernel void copy_tiles(device T0* out [[buffer(0)]],
                       device const T1* in [[buffer(1)]],
                       constant Layout& l [[buffer(2)]],
                       constant uint2& size [[buffer(3)]],
                       constant int2& steps [[buffer(4)]],
                       uint3 group [[threadgroup_position_in_grid]],
                       uint2 at [[thread_position_in_threadgroup]]) {
    threadgroup T0 tile[TILE * (TILE + 1)];
    uint first_row = group.y * TILE;
    uint first_column = group.x * TILE;
    int from = start_of(l, 1, group.z);
    int to = start_of(l, 0, group.z);
    for (uint k = at.y; k < TILE; k += 8) {
        uint row = first_row + at.x;
        uint column = first_column + k;
        if (row < size.y && column < size.x) {
            tile[k * (TILE + 1) + at.x] = in[from + int(row) + int(column) * steps.y];
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = at.y; k < TILE; k += 8) {
        uint row = first_row + k;
        uint column = first_column + at.x;
        if (row < size.y && column < size.x) {
            out[to + int(row) * steps.x + int(column)] = tile[at.x * (TILE + 1) + k];
        }
    }
}
#endif

#ifdef T2
kernel void map2(device T0* out [[buffer(0)]],
                 device const T1* a [[buffer(1)]],
                 device const T2* b [[buffer(2)]],
                 constant Layout& l [[buffer(3)]],
                 uint2 at [[thread_position_in_grid]]) {
    out[AT(0, S0)] = T0(OP(C(a[AT(1, S1)]), C(b[AT(2, S2)])));
}

kernel void map2_with(device T0* out [[buffer(0)]],
                      device const T1* a [[buffer(1)]],
                      device const T2* b [[buffer(2)]],
                      constant Layout& l [[buffer(3)]],
                      constant float4& p [[buffer(4)]],
                      uint2 at [[thread_position_in_grid]]) {
    out[AT(0, S0)] = T0(OP(C(a[AT(1, S1)]), C(b[AT(2, S2)]), p));
}
#endif

#ifdef T3
kernel void map3(device T0* out [[buffer(0)]],
                 device const T1* a [[buffer(1)]],
                 device const T2* b [[buffer(2)]],
                 device const T3* c [[buffer(3)]],
                 constant Layout& l [[buffer(4)]],
                 uint2 at [[thread_position_in_grid]]) {
    out[AT(0, S0)] = T0(OP(C(a[AT(1, S1)]), C(b[AT(2, S2)]), C(c[AT(3, S3)])));
}

kernel void choose(device T0* out [[buffer(0)]],
                   device const bool* which [[buffer(1)]],
                   device const T2* b [[buffer(2)]],
                   device const T3* c [[buffer(3)]],
                   constant Layout& l [[buffer(4)]],
                   uint2 at [[thread_position_in_grid]]) {
    bool first = which[AT(1, S1)];
    C yes = C(b[AT(2, S2)]);
    C no = C(c[AT(3, S3)]);
    out[AT(0, S0)] = T0(first ? yes : no);
}
#endif
