// What every family's kernels begin with: layouts of tensors, and conversions.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint MAX_RANK = 8;
constant constexpr uint MAX_OPERANDS = 4;

// A shape with the strides of up to four operands, in elements; the innermost dimension is apart.
struct Layout {
    uint inner;
    uint outer;
    uint rank;
    uint shape[MAX_RANK];
    int strides[MAX_OPERANDS][MAX_RANK];
    int inner_strides[MAX_OPERANDS];
    int offsets[MAX_OPERANDS];
};

// Where an operand's row of `rank` outer dimensions begins, from the start of all.
static int within(constant Layout& l, uint rank, uint operand, uint row) {
    int start = 0;
    for (uint d = rank; d > 1; d--) {
        uint extent = l.shape[d - 1];
        uint rest = row / extent;
        start += int(row - rest * extent) * l.strides[operand][d - 1];
        row = rest;
    }
    return rank > 0 ? start + int(row) * l.strides[operand][0] : start;
}

// Where an operand's row of the outer dimensions begins. RANK: how many dimensions these are; AT_START: no
// operand has an offset.
#ifndef RANK
#define RANK l.rank
#endif
static int start_of(constant Layout& l, uint operand, uint row) {
#ifdef AT_START
    return within(l, RANK, operand, row);
#else
    return l.offsets[operand] + within(l, RANK, operand, row);
#endif
}

#ifdef GROUP
// The greatest value and the sum of a threadgroup's, in all of its threads; `shared` may be used
// again.
static float group_max(float value, threadgroup float* shared, uint tid) {
    value = simd_max(value);
#if GROUP > 32
    if (tid % 32 == 0) {
        shared[tid / 32] = value;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < GROUP / 32; i++) {
        value = max(value, shared[i]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
#endif
    return value;
}

static float group_sum(float value, threadgroup float* shared, uint tid) {
    value = simd_sum(value);
#if GROUP > 32
    if (tid % 32 == 0) {
        shared[tid / 32] = value;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    value = 0;
    for (uint i = 0; i < GROUP / 32; i++) {
        value += shared[i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
#endif
    return value;
}
#endif

// Position of the thread's element for an operand: FLAT walks over all dimensions along x.
#ifdef FLAT
#define ROW at.x
#define COLUMN 0
#else
#define ROW at.y
#define COLUMN int(at.x)
#endif
#define AT(operand, stride) (start_of(l, operand, ROW) + COLUMN * (stride))
