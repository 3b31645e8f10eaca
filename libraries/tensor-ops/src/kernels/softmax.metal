// Softmax and its logarithm along one axis. T0 and T1 are the stored types of output and input;
// LOG: the logarithm; GROUP: threads that share a row; HELD: vectors of four that each of them keeps of it.

#if defined(HELD)
// A threadgroup for each row, which is read once: `count` and the layout are in vectors.
kernel void softmax_held(device vec<T0, 4>* out [[buffer(0)]],
                         device const vec<T1, 4>* in [[buffer(1)]],
                         constant Layout& l [[buffer(2)]],
                         constant uint& count [[buffer(3)]],
                         uint row [[threadgroup_position_in_grid]],
                         uint tid [[thread_index_in_threadgroup]]) {
    threadgroup float shared[GROUP];
    device const vec<T1, 4>* from = in + start_of(l, 1, row);
    device vec<T0, 4>* to = out + start_of(l, 0, row);
    float4 held[HELD];
    float greatest = -INFINITY;
    for (uint n = 0; n < HELD; n++) {
        uint i = tid + n * GROUP;
        held[n] = float4(-INFINITY);
        if (i < count) {
            vec<T1, 4> x = from[i];
            held[n] = float4(float(x[0]), float(x[1]), float(x[2]), float(x[3]));
        }
        greatest = max(greatest, max(max(held[n].x, held[n].y), max(held[n].z, held[n].w)));
    }
    greatest = group_max(greatest, shared, tid);
    float sum = 0;
    for (uint n = 0; n < HELD; n++) {
        float4 x = held[n] - greatest;
        float4 y = exp(x);
        sum += (y.x + y.y) + (y.z + y.w);
#ifdef LOG
        held[n] = x;
#else
        held[n] = y;
#endif
    }
    sum = group_sum(sum, shared, tid);
#ifdef LOG
    float shift = log(sum);
#else
    float factor = 1.0f / sum;
#endif
    for (uint n = 0; n < HELD; n++) {
        uint i = tid + n * GROUP;
        if (i < count) {
#ifdef LOG
            float4 y = held[n] - shift;
#else
            float4 y = held[n] * factor;
#endif
            to[i] = vec<T0, 4>(T0(y.x), T0(y.y), T0(y.z), T0(y.w));
        }
    }
}
#elif defined(GROUP)
kernel void softmax_rows(device T0* out [[buffer(0)]],
                         device const T1* in [[buffer(1)]],
                         constant Layout& l [[buffer(2)]],
                         constant uint& count [[buffer(3)]],
                         uint row [[threadgroup_position_in_grid]],
                         uint tid [[thread_index_in_threadgroup]]) {
    threadgroup float shared[GROUP];
    device const T1* from = in + start_of(l, 1, row);
    device T0* to = out + start_of(l, 0, row);
    float greatest = -INFINITY;
    for (uint i = tid; i < count; i += GROUP) {
        greatest = max(greatest, float(from[i]));
    }
    greatest = group_max(greatest, shared, tid);
    float sum = 0;
    for (uint i = tid; i < count; i += GROUP) {
        sum += exp(float(from[i]) - greatest);
    }
    sum = group_sum(sum, shared, tid);
#ifdef LOG
    float shift = greatest + log(sum);
    for (uint i = tid; i < count; i += GROUP) {
        to[i] = T0(float(from[i]) - shift);
    }
#else
    float factor = 1.0f / sum;
    for (uint i = tid; i < count; i += GROUP) {
        to[i] = T0(exp(float(from[i]) - greatest) * factor);
    }
#endif
}
#else

kernel void softmax_columns(device T0* out [[buffer(0)]],
                            device const T1* in [[buffer(1)]],
                            constant Layout& l [[buffer(2)]],
                            constant uint& count [[buffer(3)]],
                            constant int& out_step [[buffer(4)]],
                            constant int& in_step [[buffer(5)]],
                            uint2 at [[thread_position_in_grid]]) {
    device const T1* from = in + AT(1, S1);
    device T0* to = out + AT(0, S0);
    float greatest = -INFINITY;
    for (int i = 0; i < int(count); i++) {
        greatest = max(greatest, float(from[i * in_step]));
    }
    float sum = 0;
    for (int i = 0; i < int(count); i++) {
        sum += exp(float(from[i * in_step]) - greatest);
    }
    float shift = greatest + log(sum);
    for (int i = 0; i < int(count); i++) {
        float x = float(from[i * in_step]);
#ifdef LOG
        to[i * out_step] = T0(x - shift);
#else
        to[i * out_step] = T0(exp(x - greatest) / sum);
#endif
    }
}
#endif
