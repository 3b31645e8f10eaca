// Counters that never meet their limit: each kernel is ended by its deadline.
#include <metal_stdlib>
using namespace metal;

kernel void odd(device int* y, uint t [[thread_position_in_grid]]) {
    for (uint i = 5; i >= 1; i += 2) y[t] += i;
}

kernel void wrong_way(device int* y, uint t [[thread_position_in_grid]]) {
    for (int i = 0; i < 10; i -= 1) y[t] += i;
}

kernel void wraps_before_the_limit(device int* y, uint t [[thread_position_in_grid]]) {
    for (uint i = 0; i <= 0xffffffffu; i += 3) y[t] += i;
}

kernel void narrow_counter(device int* y, uint t [[thread_position_in_grid]]) {
    for (uchar i = 0; i < 256; i++) y[t] += i;
}

kernel void zero_is_doubled(device int* y, uint t [[thread_position_in_grid]]) {
    for (uint i = 0; i < 100; i *= 2) y[t] += i;
}

kernel void missed(device int* y, uint t [[thread_position_in_grid]]) {
    for (int i = 0; i != 7; i += 2) y[t] += i;
}

kernel void float_that_stays(device int* y, uint t [[thread_position_in_grid]]) {
    for (float f = 16777216.0f; f < 16777300.0f; f += 1.0f) y[t] += int(f);
}

kernel void starts_again(device int* y, uint t [[thread_position_in_grid]]) {
    for (int i = 0; i < 10; i++) {
        y[t] += i;
        if (i == 8) i = 2;
    }
}

kernel void limit_moves(device int* y, uint t [[thread_position_in_grid]]) {
    int n = 10;
    for (int i = 0; i < n; i++) { y[t] += i; n++; if (n > 1000) n = 1000 + (i & 1023) * 2; if (i > 900) i = 0; }
}

kernel void nested(device int* y, uint t [[thread_position_in_grid]]) {
    for (uint i = 0; i < 60000; i++)
        for (uint j = 0; j < 60000; j++)
            for (uint k = 0; k < 60000; k++) y[t] += i ^ j ^ k;
}

kernel void around_a_barrier(device int* y, uint t [[thread_position_in_grid]]) {
    threadgroup int shared[64];
    for (uint i = 5; i >= 1; i += 2) {
        shared[t % 64] = i;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        y[t] += shared[(t + 1) % 64];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}
