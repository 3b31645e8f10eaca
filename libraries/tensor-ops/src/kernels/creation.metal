// Tensors made of nothing but numbers: sequences, triangles, random numbers. T0 is the stored type.

#ifdef SEQUENCE
kernel void arange(device T0* out [[buffer(0)]],
                   constant SEQUENCE& first [[buffer(1)]],
                   constant SEQUENCE& step [[buffer(2)]],
                   uint i [[thread_position_in_grid]]) {
    out[i] = T0(first + SEQUENCE(i) * step);
}
#endif

#ifdef TRIANGLE
// Elements of matrices with column - row on the kept side of `diagonal`, zero elsewhere. x is the
// column, y the row of all matrices together.
kernel void triangle(device T0* out [[buffer(0)]],
                     device const T0* a [[buffer(1)]],
                     constant uint& rows [[buffer(2)]],
                     constant uint& columns [[buffer(3)]],
                     constant int& diagonal [[buffer(4)]],
                     uint2 at [[thread_position_in_grid]]) {
    int distance = int(at.x) - int(at.y % rows);
    uint i = at.y * columns + at.x;
    out[i] = distance TRIANGLE diagonal ? a[i] : T0(0);
}
#endif

#ifdef RANDOM
// Philox 4x32 with ten rounds (Salmon et al., Parallel random numbers: as easy as 1, 2, 3, 2011).
static uint4 philox(uint4 counter, uint2 key) {
    for (uint round = 0; round < 10; round++) {
        uint high0 = mulhi(0xD2511F53u, counter.x);
        uint low0 = 0xD2511F53u * counter.x;
        uint high1 = mulhi(0xCD9E8D57u, counter.z);
        uint low1 = 0xCD9E8D57u * counter.z;
        counter = uint4(high1 ^ counter.y ^ key.x, low1, high0 ^ counter.w ^ key.y, low0);
        key += uint2(0x9E3779B9u, 0xBB67AE85u);
    }
    return counter;
}

static float unit(uint bits) { return float(bits >> 8) * 0x1p-24f; }

static float4 random_uniform(uint4 bits, float4 p) {
    float4 u = float4(unit(bits.x), unit(bits.y), unit(bits.z), unit(bits.w));
    return fma(u, float4(p.y - p.x), float4(p.x));
}

// Two pairs by Box and Muller.
static float4 random_normal(uint4 bits, float4 p) {
    float2 radius = sqrt(-2.0f * log(float2(1.0f - unit(bits.x), 1.0f - unit(bits.z))));
    float2 angle = 6.283185307179586f * float2(unit(bits.y), unit(bits.w));
    float4 n = float4(radius.x * cos(angle.x), radius.x * sin(angle.x), radius.y * cos(angle.y), radius.y * sin(angle.y));
    return fma(n, float4(p.y), float4(p.x));
}

static float4 random_bernoulli(uint4 bits, float4 p) {
    return float4(unit(bits.x) < p.x, unit(bits.y) < p.x, unit(bits.z) < p.x, unit(bits.w) < p.x);
}

kernel void random(device T0* out [[buffer(0)]],
                   constant uint& count [[buffer(1)]],
                   constant ulong& seed [[buffer(2)]],
                   constant ulong& offset [[buffer(3)]],
                   constant float4& p [[buffer(4)]],
                   uint i [[thread_position_in_grid]]) {
    ulong block = offset + i;
    uint4 bits = philox(uint4(uint(block), uint(block >> 32), 0, 0), uint2(uint(seed), uint(seed >> 32)));
    float4 values = RANDOM(bits, p);
    for (uint k = 0; k < 4; k++) {
        if (i * 4 + k < count) {
            out[i * 4 + k] = T0(values[k]);
        }
    }
}

// Integers from `low` on, `range` many, each with the same probability within 2^-32.
kernel void random_integers(device T0* out [[buffer(0)]],
                            constant uint& count [[buffer(1)]],
                            constant ulong& seed [[buffer(2)]],
                            constant ulong& offset [[buffer(3)]],
                            constant long& low [[buffer(4)]],
                            constant uint& range [[buffer(5)]],
                            uint i [[thread_position_in_grid]]) {
    ulong block = offset + i;
    uint4 bits = philox(uint4(uint(block), uint(block >> 32), 0, 0), uint2(uint(seed), uint(seed >> 32)));
    for (uint k = 0; k < 4; k++) {
        if (i * 4 + k < count) {
            out[i * 4 + k] = T0(low + long(mulhi(bits[k], range)));
        }
    }
}
#endif
