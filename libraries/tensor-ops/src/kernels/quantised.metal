// Blocks of 32 quantised numbers, as llama.cpp has them. FORMAT: 40 is Q4_0, 41 Q4_1, 80 Q8_0. T0
// is the stored type of numbers.

#if FORMAT == 40
constant constexpr uint BYTES = 18;
#elif FORMAT == 41
constant constexpr uint BYTES = 20;
#else
constant constexpr uint BYTES = 34;
#endif

static float half_at(device const uchar* bytes) {
    return float(as_type<half>(ushort(ushort(bytes[0]) | ushort(bytes[1]) << 8)));
}

static float number_at(device const uchar* block, uint i) {
    float scale = half_at(block);
#if FORMAT == 40
    uint byte = block[2 + i % 16];
    return scale * (float(i < 16 ? byte & 15 : byte >> 4) - 8.0f);
#elif FORMAT == 41
    uint byte = block[4 + i % 16];
    return fma(scale, float(i < 16 ? byte & 15 : byte >> 4), half_at(block + 2));
#else
    return scale * float(as_type<char>(block[2 + i]));
#endif
}

kernel void dequantise(device T0* out [[buffer(0)]],
                       device const uchar* blocks [[buffer(1)]],
                       uint i [[thread_position_in_grid]]) {
    out[i] = T0(number_at(blocks + i / 32 * BYTES, i % 32));
}

static void put_half(device uchar* bytes, float x) {
    ushort bits = as_type<ushort>(half(x));
    bytes[0] = uchar(bits);
    bytes[1] = uchar(bits >> 8);
}

// A thread for each block.
kernel void quantise(device uchar* blocks [[buffer(0)]],
                     device const T0* in [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) {
    device uchar* block = blocks + i * BYTES;
    device const T0* from = in + i * 32;
    float low = float(from[0]);
    float high = low;
    for (uint k = 1; k < 32; k++) {
        low = min(low, float(from[k]));
        high = max(high, float(from[k]));
    }
#if FORMAT == 40
    // The number of the greatest size becomes -8.
    float scale = (-low > high ? low : high) / -8.0f;
    float inverse = scale != 0 ? 1.0f / scale : 0.0f;
    for (uint k = 0; k < 16; k++) {
        uint a = uint(clamp(floor(fma(float(from[k]), inverse, 8.5f)), 0.0f, 15.0f));
        uint b = uint(clamp(floor(fma(float(from[k + 16]), inverse, 8.5f)), 0.0f, 15.0f));
        block[2 + k] = uchar(a | b << 4);
    }
    put_half(block, scale);
#elif FORMAT == 41
    float scale = (high - low) / 15.0f;
    float inverse = scale != 0 ? 1.0f / scale : 0.0f;
    for (uint k = 0; k < 16; k++) {
        uint a = uint(clamp(floor(fma(float(from[k]) - low, inverse, 0.5f)), 0.0f, 15.0f));
        uint b = uint(clamp(floor(fma(float(from[k + 16]) - low, inverse, 0.5f)), 0.0f, 15.0f));
        block[4 + k] = uchar(a | b << 4);
    }
    put_half(block, scale);
    put_half(block + 2, low);
#else
    float scale = max(high, -low) / 127.0f;
    float inverse = scale != 0 ? 1.0f / scale : 0.0f;
    for (uint k = 0; k < 32; k++) {
        block[2 + k] = uchar(as_type<uchar>(char(clamp(rint(float(from[k]) * inverse), -127.0f, 127.0f))));
    }
    put_half(block, scale);
#endif
}

// x is the row of blocks, y the row of `in`: a dot product for each thread.
kernel void matvec(device float* out [[buffer(0)]],
                   device const T0* in [[buffer(1)]],
                   device const uchar* blocks [[buffer(2)]],
                   constant uint& count [[buffer(3)]],
                   uint2 at [[thread_position_in_grid]],
                   uint2 grid [[threads_per_grid]]) {
    device const uchar* row = blocks + at.x * (count / 32 * BYTES);
    device const T0* from = in + at.y * count;
    float sum = 0;
    for (uint b = 0; b < count / 32; b++) {
        for (uint i = 0; i < 32; i++) {
            sum = fma(number_at(row + b * BYTES, i), float(from[b * 32 + i]), sum);
        }
    }
    out[at.y * grid.x + at.x] = sum;
}
