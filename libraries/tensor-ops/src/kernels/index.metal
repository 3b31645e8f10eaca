// Access by tensors of indices. T0 to T2 are the stored types of output, indices and source. An
// index that names nothing is noted in `found` (a count, its element, its two words) and not
// followed.

static bool note(device atomic_uint* found, uint element, long index) {
    if (atomic_exchange_explicit(found, 1u, memory_order_relaxed) == 0) {
        atomic_store_explicit(found + 1, element, memory_order_relaxed);
        atomic_store_explicit(found + 2, uint(index), memory_order_relaxed);
        atomic_store_explicit(found + 3, uint(index >> 32), memory_order_relaxed);
    }
    return false;
}

static bool within(device atomic_uint* found, uint element, long index, int length) {
    return index >= 0 && index < length ? true : note(found, element, index);
}

#ifdef GATHER
// Operands: output, indices, source, whose stride along the indexed axis is `step` instead.
kernel void gather(device T0* out [[buffer(0)]],
                   device const T1* indices [[buffer(1)]],
                   device const T0* source [[buffer(2)]],
                   device atomic_uint* found [[buffer(3)]],
                   constant Layout& l [[buffer(4)]],
                   constant int& length [[buffer(5)]],
                   constant int& step [[buffer(6)]],
                   uint2 at [[thread_position_in_grid]]) {
    int place = AT(1, S1);
    long index = long(indices[place]);
    bool inside = within(found, uint(place - l.offsets[1]), index, length);
    int from = AT(2, S2) + (inside ? int(index) * step : 0);
    out[AT(0, S0)] = inside ? source[from] : T0(0);
}
#elif defined(COMPACT)
// Where the elements are that are true: `places` counts them up to each.
kernel void compact(device long* out [[buffer(0)]],
                    device const bool* mask [[buffer(1)]],
                    device const long* places [[buffer(2)]],
                    uint i [[thread_position_in_grid]]) {
    if (mask[i]) {
        out[places[i] - 1] = long(i);
    }
}
#else

#ifdef COMBINE
// W is the type whose arithmetic wraps, or the stored one where it is compared.
template <typename T> static bool is_nan(T x) { return false; }
template <> bool is_nan<float>(float x) { return isnan(x); }
template <typename T> static T combine_add(T a, T b) { return T(a + b); }
template <typename T> static T combine_mul(T a, T b) { return T(a * b); }
template <typename T> static T combine_min(T a, T b) { return is_nan(a) || a < b ? a : b; }
template <typename T> static T combine_max(T a, T b) { return is_nan(a) || a > b ? a : b; }
#endif

// A thread for each line along the axis, so that the order of repeated indices is theirs. Operands:
// output, indices, source, all without the axis.
kernel void scatter(device T0* out [[buffer(0)]],
                    device const T1* indices [[buffer(1)]],
                    device const T2* source [[buffer(2)]],
                    device atomic_uint* found [[buffer(3)]],
                    constant Layout& l [[buffer(4)]],
                    constant int& length [[buffer(5)]],
                    constant int& count [[buffer(6)]],
                    constant int4& steps [[buffer(7)]],
                    uint2 at [[thread_position_in_grid]]) {
    int to = AT(0, S0);
    int named = AT(1, S1);
    int from = AT(2, S2);
    for (int i = 0; i < count; i++) {
        int place = named + i * steps.y;
        long index = long(indices[place]);
        if (within(found, uint(place - l.offsets[1]), index, length)) {
            int target = to + int(index) * steps.x;
            T2 value = source[from + i * steps.z];
#ifdef COMBINE
            out[target] = T0(COMBINE(W(out[target]), W(value)));
#else
            out[target] = T0(value);
#endif
        }
    }
}
#endif
