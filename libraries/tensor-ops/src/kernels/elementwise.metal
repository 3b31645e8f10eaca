// Kernels of elementwise functions of one, two and three tensors. Macros: T0 to T3 are the stored types of
// output and inputs, C the type that is computed in, OP the function, S0 to S3 the inner strides; FLAT: one
// dimension of the grid walks over all positions. LANES: neighbours of a thread; those operands that have
// neighbours too are vectors of the types P0 to P3, whose lane `k` is E0 to E3 of them.

#ifndef LANES
#define LANES 1
#endif
#ifndef P0
#define P0 T0
#define E0
#endif
#ifndef P1
#define P1 T1
#define E1
#endif
#ifndef P2
#define P2 T2
#define E2
#endif
#ifndef P3
#define P3 T3
#define E3
#endif
#define EACH_LANE for (uint k = 0; k < LANES; k++)

kernel void map1(device P0* out [[buffer(0)]],
                 device const P1* a [[buffer(1)]],
                 constant Layout& l [[buffer(2)]],
                 constant float4& p [[buffer(3)]],
                 uint2 at [[thread_position_in_grid]]) {
    P1 x = a[AT(1, S1)];
    P0 y;
    EACH_LANE {
        y E0 = T0(OP(C(x E1), p));
    }
    out[AT(0, S0)] = y;
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
                       uint3 at [[thread_position_in_threadgroup]]) {
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
kernel void map2(device P0* out [[buffer(0)]],
                 device const P1* a [[buffer(1)]],
                 device const P2* b [[buffer(2)]],
                 constant Layout& l [[buffer(3)]],
                 uint2 at [[thread_position_in_grid]]) {
    P1 x1 = a[AT(1, S1)];
    P2 x2 = b[AT(2, S2)];
    P0 y;
    EACH_LANE {
        y E0 = T0(OP(C(x1 E1), C(x2 E2)));
    }
    out[AT(0, S0)] = y;
}

kernel void map2_with(device P0* out [[buffer(0)]],
                      device const P1* a [[buffer(1)]],
                      device const P2* b [[buffer(2)]],
                      constant Layout& l [[buffer(3)]],
                      constant float4& p [[buffer(4)]],
                      uint2 at [[thread_position_in_grid]]) {
    P1 x1 = a[AT(1, S1)];
    P2 x2 = b[AT(2, S2)];
    P0 y;
    EACH_LANE {
        y E0 = T0(OP(C(x1 E1), C(x2 E2), p));
    }
    out[AT(0, S0)] = y;
}
#endif

#ifdef T3
kernel void map3(device P0* out [[buffer(0)]],
                 device const P1* a [[buffer(1)]],
                 device const P2* b [[buffer(2)]],
                 device const P3* c [[buffer(3)]],
                 constant Layout& l [[buffer(4)]],
                 uint2 at [[thread_position_in_grid]]) {
    P1 x1 = a[AT(1, S1)];
    P2 x2 = b[AT(2, S2)];
    P3 x3 = c[AT(3, S3)];
    P0 y;
    EACH_LANE {
        y E0 = T0(OP(C(x1 E1), C(x2 E2), C(x3 E3)));
    }
    out[AT(0, S0)] = y;
}

kernel void choose(device P0* out [[buffer(0)]],
                   device const P1* which [[buffer(1)]],
                   device const P2* b [[buffer(2)]],
                   device const P3* c [[buffer(3)]],
                   constant Layout& l [[buffer(4)]],
                   uint2 at [[thread_position_in_grid]]) {
    P1 first = which[AT(1, S1)];
    P2 yes = b[AT(2, S2)];
    P3 no = c[AT(3, S3)];
    P0 y;
    EACH_LANE {
        y E0 = T0(first E1 ? C(yes E2) : C(no E3));
    }
    out[AT(0, S0)] = y;
}
#endif
