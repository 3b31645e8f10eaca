// Bitonic sort of lines, stable by the elements' positions. T0 is the stored type. Positions of
// `count` or more are filling, which comes last; NaN is greater than all numbers. DESCENDING: the
// greatest first.

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
