// Normalisation of rows whose elements are neighbours. T0 to T3 are the stored types of output,
// input, weight and bias; RMS: no mean is subtracted; WEIGHT, BIAS: there is one for each element
// of a row; GROUP: threads of a row; HELD: vectors of four that each of them keeps of it.
#ifdef HELD
// A row is read once: `count` and the layout are in vectors.
kernel void norm_held(device vec<T0, 4>* out [[buffer(0)]],
                      device const vec<T1, 4>* in [[buffer(1)]],
                      device const vec<T2, 4>* weight [[buffer(2)]],
                      device const vec<T3, 4>* bias [[buffer(3)]],
                      constant Layout& l [[buffer(4)]],
                      constant uint& count [[buffer(5)]],
                      constant float& epsilon [[buffer(6)]],
                      uint row [[threadgroup_position_in_grid]],
                      uint tid [[thread_index_in_threadgroup]]) {
    threadgroup float shared[GROUP];
    device const vec<T1, 4>* from = in + start_of(l, 1, row);
    device vec<T0, 4>* to = out + start_of(l, 0, row);
    float share = 0.25f / float(count);
    float4 held[HELD];
    float sum = 0;
    for (uint n = 0; n < HELD; n++) {
        uint i = tid + n * GROUP;
        held[n] = 0;
        if (i < count) {
            vec<T1, 4> x = from[i];
            held[n] = float4(float(x[0]), float(x[1]), float(x[2]), float(x[3]));
        }
        sum += (held[n].x + held[n].y) + (held[n].z + held[n].w);
    }
    float mean = 0;
#ifndef RMS
    mean = group_sum(sum, shared, tid) * share;
#endif
    float squares = 0;
    for (uint n = 0; n < HELD; n++) {
        held[n] -= mean;
        // Threads without a vector have no difference.
        squares += tid + n * GROUP < count ? dot(held[n], held[n]) : 0.0f;
    }
    float factor = rsqrt(group_sum(squares, shared, tid) * share + epsilon);
    for (uint n = 0; n < HELD; n++) {
        uint i = tid + n * GROUP;
        if (i < count) {
            float4 y = held[n] * factor;
#ifdef WEIGHT
            vec<T2, 4> w = weight[i];
            y *= float4(float(w[0]), float(w[1]), float(w[2]), float(w[3]));
#endif
#ifdef BIAS
            vec<T3, 4> b = bias[i];
            y += float4(float(b[0]), float(b[1]), float(b[2]), float(b[3]));
#endif
            to[i] = vec<T0, 4>(T0(y.x), T0(y.y), T0(y.z), T0(y.w));
        }
    }
}
#else
kernel void norm_rows(device T0* out [[buffer(0)]],
                      device const T1* in [[buffer(1)]],
                      device const T2* weight [[buffer(2)]],
                      device const T3* bias [[buffer(3)]],
                      constant Layout& l [[buffer(4)]],
                      constant uint& count [[buffer(5)]],
                      constant float& epsilon [[buffer(6)]],
                      uint row [[threadgroup_position_in_grid]],
                      uint tid [[thread_index_in_threadgroup]]) {
    threadgroup float shared[GROUP];
    device const T1* from = in + start_of(l, 1, row);
    device T0* to = out + start_of(l, 0, row);
    float mean = 0;
#ifndef RMS
    float sum = 0;
    for (uint i = tid; i < count; i += GROUP) {
        sum += float(from[i]);
    }
    mean = group_sum(sum, shared, tid) / float(count);
#endif
    float squares = 0;
    for (uint i = tid; i < count; i += GROUP) {
        float d = float(from[i]) - mean;
        squares += d * d;
    }
    float factor = rsqrt(group_sum(squares, shared, tid) / float(count) + epsilon);
    for (uint i = tid; i < count; i += GROUP) {
        float y = (float(from[i]) - mean) * factor;
#ifdef WEIGHT
        y *= float(weight[i]);
#endif
#ifdef BIAS
        y += float(bias[i]);
#endif
        to[i] = T0(y);
    }
}
#endif
