// Reductions, positions of extremes, running sums. Macros: T0 and T1 are the stored types of output
// and input, A the accumulator's, W the one whose arithmetic wraps, COMBINE the function, INIT its
// neutral element, TRUTH: elements count as what is not zero; SHUFFLE: the accumulator's type can
// be passed between lanes; GROUP: threads that share a row; LANES: neighbours that a thread loads at
// once, PACK the type of these. The layout `l` is of the kept dimensions (output, input), `r` of the
// reduced ones (input), of LINE_RANK dimensions besides the innermost.

#ifndef LANES
#define LANES 1
#define PACK T1
#define OUT_PACK T0
#define LANE(pack, k) pack
#else
#define OUT_PACK vec<T0, LANES>
#define LANE(pack, k) pack[k]
#endif

template <typename T> static bool is_nan(T x) { return false; }
template <> bool is_nan<float>(float x) { return isnan(x); }

template <typename T> T combine_sum(T a, T b) { return T(W(a) + W(b)); }
template <typename T> T combine_product(T a, T b) { return T(W(a) * W(b)); }
template <typename T> T combine_min(T a, T b) { return is_nan(a) || a < b ? a : b; }
template <typename T> T combine_max(T a, T b) { return is_nan(a) || a > b ? a : b; }
template <typename T> T combine_logaddexp(T a, T b) {
    T high = max(a, b);
    // The difference of infinities of one sign would be NaN.
    T sum = isinf(high) ? high : high + log1p(exp(-fabs(a - b)));
    return is_nan(a) || is_nan(b) ? a + b : sum;
}
template <typename T> T combine_or(T a, T b) { return T(a | b); }
template <typename T> T combine_and(T a, T b) { return T(a & b); }

// Whether `b` comes before `a`, which is earlier: NaN before all.
template <typename T> bool before_max(T a, T b) { return !is_nan(a) && (is_nan(b) || b > a); }
template <typename T> bool before_min(T a, T b) { return !is_nan(a) && (is_nan(b) || b < a); }

#ifdef TRUTH
#define LOAD(x) A((x) != T1(0))
#else
#define LOAD(x) A(x)
#endif

#ifdef S0
#ifdef INIT
// A thread for each output.
kernel void reduce_columns(device T0* out [[buffer(0)]],
                           device const T1* in [[buffer(1)]],
                           constant Layout& l [[buffer(2)]],
                           constant Layout& r [[buffer(3)]],
                           constant float& scale [[buffer(4)]],
                           uint2 at [[thread_position_in_grid]]) {
    int start = AT(1, S1);
    int step = r.inner_strides[0];
    A sum = INIT;
    for (uint row = 0; row < r.outer; row++) {
        int from = start + within(r, LINE_RANK, 0, row);
        for (uint i = 0; i < r.inner; i++) {
            sum = COMBINE(sum, LOAD(in[from + int(i) * step]));
        }
    }
#ifdef SCALED
    sum *= scale;
#endif
    out[AT(0, S0)] = T0(sum);
}

#ifdef PARTS
// Lines in parts for which there are threads enough: x and y of a threadgroup's threads are columns and
// PARTS parts of its lines, x and y of the grid columns and threadgroups' parts. Vectors of `out` follow
// each other, a row for each part of the grid.
kernel void reduce_columns_parts(device OUT_PACK* out [[buffer(0)]],
                                 device const PACK* in [[buffer(1)]],
                                 constant Layout& l [[buffer(2)]],
                                 constant Layout& r [[buffer(3)]],
                                 constant float& scale [[buffer(4)]],
                                 constant uint& chunk [[buffer(5)]],
                                 uint2 group [[threadgroup_position_in_grid]],
                                 uint2 at [[thread_position_in_threadgroup]]) {
    threadgroup A shared[PARTS * 32 * LANES];
    uint column = group.x * 32 + at.x;
    bool is_inside = column < l.outer;
    A sums[LANES];
    for (uint k = 0; k < LANES; k++) {
        sums[k] = INIT;
    }
    if (is_inside) {
        device const PACK* from = in + start_of(l, 1, column);
        uint end = min(r.outer, (group.y + 1) * chunk);
        uint row = group.y * chunk + at.y;
        // Two loads at a time, so that none waits for the one before.
        for (; row + PARTS < end; row += 2 * PARTS) {
            PACK x = from[within(r, LINE_RANK, 0, row)];
            PACK y = from[within(r, LINE_RANK, 0, row + PARTS)];
            for (uint k = 0; k < LANES; k++) {
                sums[k] = COMBINE(sums[k], COMBINE(LOAD(LANE(x, k)), LOAD(LANE(y, k))));
            }
        }
        if (row < end) {
            PACK x = from[within(r, LINE_RANK, 0, row)];
            for (uint k = 0; k < LANES; k++) {
                sums[k] = COMBINE(sums[k], LOAD(LANE(x, k)));
            }
        }
    }
    for (uint k = 0; k < LANES; k++) {
        shared[(k * PARTS + at.y) * 32 + at.x] = sums[k];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (at.y == 0 && is_inside) {
        OUT_PACK result;
        for (uint k = 0; k < LANES; k++) {
            A sum = shared[k * PARTS * 32 + at.x];
            for (uint part = 1; part < PARTS; part++) {
                sum = COMBINE(sum, shared[(k * PARTS + part) * 32 + at.x]);
            }
#ifdef SCALED
            sum *= scale;
#endif
            LANE(result, k) = T0(sum);
        }
        out[group.y * l.outer + column] = result;
    }
}
#endif

// A thread for each line; the sums so far are written.
kernel void scan_columns(device T0* out [[buffer(0)]],
                         device const T1* in [[buffer(1)]],
                         constant Layout& l [[buffer(2)]],
                         constant uint& count [[buffer(3)]],
                         constant int& out_step [[buffer(4)]],
                         constant int& in_step [[buffer(5)]],
                         uint2 at [[thread_position_in_grid]]) {
    int to = AT(0, S0);
    int from = AT(1, S1);
    A sum = INIT;
    for (uint i = 0; i < count; i++) {
        sum = COMBINE(sum, LOAD(in[from + int(i) * in_step]));
        out[to + int(i) * out_step] = T0(sum);
    }
}
#endif

#ifdef BEFORE
kernel void position_columns(device uint* out [[buffer(0)]],
                             device const T1* in [[buffer(1)]],
                             constant Layout& l [[buffer(2)]],
                             constant uint& count [[buffer(3)]],
                             constant int& step [[buffer(4)]],
                             uint2 at [[thread_position_in_grid]]) {
    int from = AT(1, S1);
    A best = A(in[from]);
    uint place = 0;
    for (uint i = 1; i < count; i++) {
        A other = A(in[from + int(i) * step]);
        bool better = BEFORE(best, other);
        best = better ? other : best;
        place = better ? i : place;
    }
    out[AT(0, S0)] = place;
}
#endif
#endif

#if defined(GROUP) && defined(INIT)
// A threadgroup for each part of a row whose elements are neighbours. x counts the rows, of which there
// may be more, y the parts.
kernel void reduce_rows(device T0* out [[buffer(0)]],
                        device const PACK* in [[buffer(1)]],
                        constant Layout& l [[buffer(2)]],
                        constant uint& count [[buffer(3)]],
                        constant uint& chunk [[buffer(4)]],
                        constant float& scale [[buffer(5)]],
                        uint2 group [[threadgroup_position_in_grid]],
                        uint2 groups [[threadgroups_per_grid]],
                        uint tid [[thread_index_in_threadgroup]]) {
    threadgroup A shared[GROUP];
    int start = start_of(l, 1, group.x);
    uint first = group.y * chunk;
    uint end = min(count, first + chunk);
    // Four sums at a time, so that none waits for the one before.
#if LANES > 1
    device const PACK* from = in + start;
    A sums[4] = { INIT, INIT, INIT, INIT };
    uint base = first + tid;
    for (; base + GROUP < end; base += 2 * GROUP) {
        PACK x = from[base];
        PACK y = from[base + GROUP];
        for (uint k = 0; k < 4; k++) {
            sums[k] = COMBINE(sums[k], COMBINE(LOAD(x[k]), LOAD(y[k])));
        }
    }
    if (base < end) {
        PACK x = from[base];
        for (uint k = 0; k < 4; k++) {
            sums[k] = COMBINE(sums[k], LOAD(x[k]));
        }
    }
    A sum = COMBINE(COMBINE(sums[0], sums[1]), COMBINE(sums[2], sums[3]));
#else
    device const T1* from = in + start;
    A sum = INIT;
    A sum1 = INIT;
    A sum2 = INIT;
    A sum3 = INIT;
    uint base = first;
    for (; base + 4 * GROUP <= end; base += 4 * GROUP) {
        uint i = base + tid;
        sum = COMBINE(sum, LOAD(from[i]));
        sum1 = COMBINE(sum1, LOAD(from[i + GROUP]));
        sum2 = COMBINE(sum2, LOAD(from[i + 2 * GROUP]));
        sum3 = COMBINE(sum3, LOAD(from[i + 3 * GROUP]));
    }
    for (uint i = base + tid; i < end; i += GROUP) {
        sum = COMBINE(sum, LOAD(from[i]));
    }
    sum = COMBINE(COMBINE(sum, sum1), COMBINE(sum2, sum3));
#endif
#ifdef SHUFFLE
    for (ushort apart = 16; apart > 0; apart /= 2) {
        sum = COMBINE(sum, simd_shuffle_xor(sum, apart));
    }
#if GROUP > 32
    if (tid % 32 == 0) {
        shared[tid / 32] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum = shared[0];
    for (uint k = 1; k < GROUP / 32; k++) {
        sum = COMBINE(sum, shared[k]);
    }
#endif
#else
    shared[tid] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint apart = GROUP / 2; apart > 0; apart /= 2) {
        if (tid < apart) {
            shared[tid] = COMBINE(shared[tid], shared[tid + apart]);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    sum = shared[0];
#endif
    if (tid == 0) {
#ifdef SCALED
        sum *= scale;
#endif
        out[group.x * groups.y + group.y] = T0(sum);
    }
}
#endif

#ifdef SCAN
// A SIMD-group for each row whose elements are neighbours; the sums so far are written.
kernel void scan_rows(device T0* out [[buffer(0)]],
                      device const T1* in [[buffer(1)]],
                      constant Layout& l [[buffer(2)]],
                      constant uint& count [[buffer(3)]],
                      uint row [[threadgroup_position_in_grid]],
                      uint lane [[thread_index_in_simdgroup]]) {
    device T0* to = out + start_of(l, 0, row);
    device const T1* from = in + start_of(l, 1, row);
    A carry = INIT;
    for (uint first = 0; first < count; first += 32) {
        uint i = first + lane;
        A value = i < count ? A(from[i]) : INIT;
        A sum = COMBINE(carry, SCAN(value));
        if (i < count) {
            to[i] = T0(sum);
        }
        carry = simd_broadcast(sum, 31);
    }
}
#endif

#if defined(SCAN) && defined(GROUP)
// A threadgroup for each row, whose threads take four neighbours at a time: `count` and the layout are in
// vectors.
kernel void scan_rows_group(device vec<T0, 4>* out [[buffer(0)]],
                            device const vec<T1, 4>* in [[buffer(1)]],
                            constant Layout& l [[buffer(2)]],
                            constant uint& count [[buffer(3)]],
                            uint row [[threadgroup_position_in_grid]],
                            uint tid [[thread_index_in_threadgroup]]) {
    threadgroup A shared[2][GROUP / 32];
    device vec<T0, 4>* to = out + start_of(l, 0, row);
    device const vec<T1, 4>* from = in + start_of(l, 1, row);
    A carry = INIT;
    uint turn = 0;
    for (uint first = 0; first < count; first += GROUP) {
        uint i = first + tid;
        A x[4] = { INIT, INIT, INIT, INIT };
        if (i < count) {
            vec<T1, 4> loaded = from[i];
            for (uint k = 0; k < 4; k++) {
                x[k] = A(loaded[k]);
            }
        }
        for (uint k = 1; k < 4; k++) {
            x[k] = COMBINE(x[k - 1], x[k]);
        }
        A sums = SCAN(x[3]);
        if (tid % 32 == 31) {
            shared[turn][tid / 32] = sums;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        // What is before the thread: the rounds, SIMD-groups and lanes before.
        A before = carry;
        for (uint k = 0; k < GROUP / 32; k++) {
            before = k < tid / 32 ? COMBINE(before, shared[turn][k]) : before;
            carry = COMBINE(carry, shared[turn][k]);
        }
        A neighbour = simd_shuffle_up(sums, 1);
        before = tid % 32 > 0 ? COMBINE(before, neighbour) : before;
        if (i < count) {
            vec<T0, 4> result;
            for (uint k = 0; k < 4; k++) {
                result[k] = T0(COMBINE(before, x[k]));
            }
            to[i] = result;
        }
        // The next round writes the other half, and the one after comes behind its barrier.
        turn = 1 - turn;
    }
}
#endif

#if defined(GROUP) && defined(BEFORE)
kernel void position_rows(device uint* out [[buffer(0)]],
                          device const PACK* in [[buffer(1)]],
                          constant Layout& l [[buffer(2)]],
                          constant uint& count [[buffer(3)]],
                          uint row [[threadgroup_position_in_grid]],
                          uint tid [[thread_index_in_threadgroup]]) {
    threadgroup A values[GROUP];
    threadgroup uint places[GROUP];
    device const PACK* from = in + start_of(l, 1, row);
    // A thread without elements of its own has the first ones. `count` is in vectors.
    uint first = tid < count ? tid : 0;
    PACK pack = from[first];
    A best = A(LANE(pack, 0));
    uint place = first * LANES;
#if LANES > 1
    for (uint k = 1; k < LANES; k++) {
        A other = A(pack[k]);
        bool better = BEFORE(best, other);
        best = better ? other : best;
        place = better ? first * LANES + k : place;
    }
#endif
    for (uint i = tid + GROUP; i < count; i += GROUP) {
        pack = from[i];
        for (uint k = 0; k < LANES; k++) {
            A other = A(LANE(pack, k));
            bool better = BEFORE(best, other);
            best = better ? other : best;
            place = better ? i * LANES + k : place;
        }
    }
    values[tid] = best;
    places[tid] = place;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint apart = GROUP / 2; apart > 0; apart /= 2) {
        if (tid < apart) {
            A other = values[tid + apart];
            uint other_place = places[tid + apart];
            bool same = !BEFORE(values[tid], other) && !BEFORE(other, values[tid]);
            if (same ? other_place < places[tid] : BEFORE(values[tid], other)) {
                values[tid] = other;
                places[tid] = other_place;
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (tid == 0) {
        out[row] = places[0];
    }
}
#endif
