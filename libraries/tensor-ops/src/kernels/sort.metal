// Bitonic sort of lines of 32-bit keys or less, stable by the elements' positions. An element is a pair: its
// key as an unsigned number, whose order is that of the elements, above its place in the line. No two are
// equal, so that the least and the greatest of two are all that a step needs. T0 is the stored type, C the one
// that is compared; NaN is greater than all numbers. DESCENDING: the greatest first. Lines are filled up to
// `1 << bits` pairs, a power of two; TILE pairs are sorted in threadgroup memory by GROUP threads.

#ifdef GROUP
template <typename T> static uint key_of(T x) { return uint(int(x)) ^ 0x80000000u; }
template <> uint key_of<uint>(uint x) { return x; }
template <> uint key_of<float>(float x) {
    // Both zeros are one key.
    uint pattern = x == 0 ? 0u : as_type<uint>(x);
    uint key = (pattern & 0x80000000u) != 0 ? ~pattern : pattern | 0x80000000u;
    return isnan(x) ? 0xffffffffu : key;
}

static ulong pair_of(T0 x, uint place) {
    uint key = key_of(C(x));
#ifdef DESCENDING
    key = ~key;
#endif
    return ulong(key) << 32 | place;
}

// Steps of the pairs of a tile, from `apart` places apart down to one; `begin` is the tile's first pair, `run`
// says which runs are in order afterwards. All tile's pairs are there.
static void merge_tile(threadgroup ulong* tile, uint begin, uint apart, uint run, uint tid) {
    for (; apart > 0; apart /= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint n = tid; n < TILE / 2; n += GROUP) {
            uint low = 2 * n - (n & (apart - 1));
            ulong a = tile[low];
            ulong b = tile[low + apart];
            bool forward = ((begin + low) & run) == 0;
            tile[low] = forward ? min(a, b) : max(a, b);
            tile[low + apart] = forward ? max(a, b) : min(a, b);
        }
    }
}

// Takes tiles of lines over and sorts them: runs of `1 << bits` or of a tile, whichever is less, in an order that
// alternates but for the last. FINAL: a tile holds whole lines, of which values and places are written.
// Without, pairs are.
#ifdef FINAL
kernel void sort_tiles(device T0* values,
                       device uint* places,
#else
kernel void sort_tiles(device ulong* pairs,
#endif
                       device const T0* in,
                       constant Layout& l,
                       constant uint& count,
                       constant int& step,
                       constant uint& bits,
                       uint group [[threadgroup_position_in_grid]],
                       uint tid [[thread_index_in_threadgroup]]) {
    threadgroup ulong tile[TILE];
    uint begin = group * TILE;
    uint width = 1u << bits;
    for (uint n = tid; n < TILE; n += GROUP) {
        uint place = (begin + n) & (width - 1);
        uint line = (begin + n) >> bits;
        // Filling comes last.
        ulong pair = 0xffffffff00000000ul | place;
        if (place < count && line < l.outer) {
            pair = pair_of(in[start_of(l, 1, line) + int(place) * step], place);
        }
        tile[n] = pair;
    }
    // Within a line, so that the last run of each is forward.
    uint from = begin & (width - 1);
    for (uint run = 2; run <= min(width, uint(TILE)); run *= 2) {
        merge_tile(tile, from, run / 2, run < width ? run : 0, tid);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint n = tid; n < TILE; n += GROUP) {
#ifdef FINAL
        uint at = (begin + n) & (width - 1);
        uint line = (begin + n) >> bits;
        if (at < count && line < l.outer) {
            uint place = uint(tile[n]);
            values[line * count + at] = in[start_of(l, 1, line) + int(place) * step];
            places[line * count + at] = place;
        }
#else
        pairs[begin + n] = tile[n];
#endif
    }
}

// The steps within tiles that end a run. FINAL: the last one, of which values and places are written.
#ifdef FINAL
kernel void sort_merge(device T0* values,
                       device uint* places,
                       device const ulong* pairs,
#else
kernel void sort_merge(device ulong* pairs,
#endif
                       device const T0* in,
                       constant Layout& l,
                       constant uint& count,
                       constant int& step,
                       constant uint& bits,
                       constant uint& run,
                       uint group [[threadgroup_position_in_grid]],
                       uint tid [[thread_index_in_threadgroup]]) {
    threadgroup ulong tile[TILE];
    uint begin = group * TILE;
    for (uint n = tid; n < TILE; n += GROUP) {
        tile[n] = pairs[begin + n];
    }
    uint width = 1u << bits;
    uint from = begin & (width - 1);
    merge_tile(tile, from, TILE / 2, run < width ? run : 0, tid);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint n = tid; n < TILE; n += GROUP) {
#ifdef FINAL
        if (from + n < count) {
            uint line = begin >> bits;
            uint place = uint(tile[n]);
            values[line * count + from + n] = in[start_of(l, 1, line) + int(place) * step];
            places[line * count + from + n] = place;
        }
#else
        pairs[begin + n] = tile[n];
#endif
    }
}

// Steps whose pairs are in different tiles: pairs `apart` places apart, and with TWICE also those half as far
// apart. `run` says which runs are in order afterwards.
kernel void sort_far(device ulong* pairs [[buffer(0)]],
                     constant uint& apart [[buffer(1)]],
                     constant uint& run [[buffer(2)]],
                     uint n [[thread_position_in_grid]]) {
#ifdef TWICE
    uint half_apart = apart / 2;
    uint low = 4 * n - 3 * (n & (half_apart - 1));
    bool forward = (low & run) == 0;
    ulong x[4];
    for (uint k = 0; k < 4; k++) {
        x[k] = pairs[low + k * half_apart];
    }
    ulong y[4] = { min(x[0], x[2]), min(x[1], x[3]), max(x[0], x[2]), max(x[1], x[3]) };
    if (!forward) {
        ulong back[4] = { y[2], y[3], y[0], y[1] };
        for (uint k = 0; k < 4; k++) {
            y[k] = back[k];
        }
    }
    for (uint k = 0; k < 4; k += 2) {
        ulong least = min(y[k], y[k + 1]);
        ulong greatest = max(y[k], y[k + 1]);
        pairs[low + k * half_apart] = forward ? least : greatest;
        pairs[low + (k + 1) * half_apart] = forward ? greatest : least;
    }
#else
    uint low = 2 * n - (n & (apart - 1));
    ulong a = pairs[low];
    ulong b = pairs[low + apart];
    bool forward = (low & run) == 0;
    pairs[low] = forward ? min(a, b) : max(a, b);
    pairs[low + apart] = forward ? max(a, b) : min(a, b);
#endif
}
#else

// The same for keys of 64 bits, with keys and places apart. Positions of `count` or more are filling, which
// comes last.

template <typename T> static bool is_nan(T x) { return false; }
template <> bool is_nan<float>(float x) { return isnan(x); }

static bool comes_before(C a, uint place_a, C b, uint place_b, uint count) {
    if (place_a >= count || place_b >= count) {
        return place_a < place_b;
    }
#ifdef DESCENDING
    bool before = is_nan(a) ? !is_nan(b) : a > b;
    bool after = is_nan(b) ? !is_nan(a) : b > a;
#else
    bool before = is_nan(b) ? !is_nan(a) : a < b;
    bool after = is_nan(a) ? !is_nan(b) : b < a;
#endif
    return before || (!after && place_a < place_b);
}

// Takes the lines over: x is the place in a line, y the line.
kernel void sort_begin(device T0* keys [[buffer(0)]],
                       device uint* places [[buffer(1)]],
                       device const T0* in [[buffer(2)]],
                       constant Layout& l [[buffer(3)]],
                       constant uint& count [[buffer(4)]],
                       constant int& step [[buffer(5)]],
                       uint2 at [[thread_position_in_grid]],
                       uint2 grid [[threads_per_grid]]) {
    uint to = at.y * grid.x + at.x;
    keys[to] = at.x < count ? in[start_of(l, 1, at.y) + int(at.x) * step] : T0(0);
    places[to] = at.x;
}

// One step: pairs `apart` places apart in runs of `run`, whose order alternates. x is the pair, y
// the line.
kernel void sort_step(device T0* keys [[buffer(0)]],
                      device uint* places [[buffer(1)]],
                      constant uint& count [[buffer(2)]],
                      constant uint& apart [[buffer(3)]],
                      constant uint& run [[buffer(4)]],
                      uint2 at [[thread_position_in_grid]],
                      uint2 grid [[threads_per_grid]]) {
    uint low = at.x % apart + at.x / apart * (2 * apart);
    uint first = at.y * 2 * grid.x + low;
    uint second = first + apart;
    bool forward = (low & run) == 0;
    T0 a = keys[first];
    T0 b = keys[second];
    uint place_a = places[first];
    uint place_b = places[second];
    if (comes_before(C(b), place_b, C(a), place_a, count) == forward) {
        keys[first] = b;
        keys[second] = a;
        places[first] = place_b;
        places[second] = place_a;
    }
}
#endif
