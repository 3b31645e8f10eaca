// Softmax and its logarithm along one axis. T0 and T1 are the stored types of output and input;
// LOG: the logarithm; GROUP: threads that share a row.

#ifdef GROUP
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
