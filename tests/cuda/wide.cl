// Vectors of 8 and 16 in OpenCL C.
kernel void wide(global const float8* x, global float* y, global uchar8* bytes, local float8* shared) {
    float16 all = (float16)(x[0], x[1]);
    all.s9 = x[0].s3;
    float8 sum = all.hi * 2 + 1;
    sum += all.lo;
    vstore8(sum, 0, y);
    shared[0] = max(sum, 20.0f);
    shared[0] -= (float8)(0, 0, 0, 0, 0, 0, 0, 1);
    vstore8(shared[0], 1, y);
    vstore16(all, 1, y);
    int8 number = convert_int8(bytes[0]) << 1;
    bytes[0] = convert_uchar8(number & 15);
    y[32] = vload16(1, y).hi.lo.s2;
}
