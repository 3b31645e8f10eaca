// Normalisation of rows whose elements are neighbours. T0 to T3 are the stored types of output,
// input, weight and bias; RMS: no mean is subtracted; WEIGHT, BIAS: there is one for each element
// of a row; GROUP: threads of a row.
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
