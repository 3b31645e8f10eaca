// Kernels that write secrets to all kinds of memory, and kernels that read memory that they have not written.
// `z` is zero at run time, which no compiler knows.
#include <metal_stdlib>
using namespace metal;

#define SECRET(i) (0x5ec2e700u + ((i) & 255u))
#define TWICE(x) x x
#define TIMES_16(x) TWICE(TWICE(TWICE(TWICE(x))))
#define TIMES_128(x) TWICE(TWICE(TWICE(TIMES_16(x))))
#define ARGUMENTS device uint* out, constant uint& z, uint t [[thread_index_in_threadgroup]]

kernel void victim(ARGUMENTS, threadgroup uint* given [[threadgroup(0)]]) {
    threadgroup uint shared[4096];
    // The first one is not needed after the barrier, so it is kept elsewhere.
    uint early[2000], large[2000], small[250], kept[40];
    for (uint i = t; i < 4096; i += 128) {
        shared[i] = SECRET(i);
    }
    for (uint i = t; i < 1024; i += 128) {
        given[i] = SECRET(i);
    }
    for (uint i = 0; i < 2000; i++) {
        early[(i + z) % 2000] = SECRET(i);
        large[(i + z) % 2000] = SECRET(i);
    }
    for (uint i = 0; i < 250; i++) {
        small[(i + z) % 250] = SECRET(i);
    }
    for (uint i = 0; i < 40; i++) {
        kept[(i + z) % 40] = SECRET(i);
    }
    uint variable = SECRET(t + z) + early[(t * 3 + z) % 2000];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = shared[t ^ 1] + given[t] + large[t * 7] + small[t] + kept[(t + z) % 40] + variable;
}

kernel void static_threadgroup(ARGUMENTS) {
    threadgroup uint shared[4096];
    if (z == 99) shared[t] = 1;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = t; i < 4096; i += 128) out[i] = shared[i];
}

kernel void dynamic_threadgroup(ARGUMENTS, threadgroup uint* given [[threadgroup(0)]]) {
    if (z == 99) given[t] = 1;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = t; i < 1024; i += 128) out[i] = given[i];
}

kernel void between_variables(ARGUMENTS) {
    threadgroup uchar first[5];
    threadgroup float3 second[3];
    if (z == 99) {
        first[t % 5] = 1;
        second[t % 3] = 1;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < 12) out[t] = ((threadgroup uint*)second)[t];
    else if (t < 17) out[t] = first[t - 12];
}

kernel void beyond_variables(ARGUMENTS) {
    threadgroup uint shared[16];
    if (z == 99) shared[t % 16] = 1;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = t; i < 4096; i += 128) out[i] = shared[i];
}

// Writes secrets if `z` is 1, else reads.
kernel void either(ARGUMENTS) {
    threadgroup uint shared[4096];
    uint large[500], small[20];
    if (z == 1) {
        for (uint i = t; i < 4096; i += 128) shared[i] = SECRET(i);
        for (uint i = 0; i < 500; i++) large[(i * z) % 500] = SECRET(i);
        for (uint i = 0; i < 20; i++) small[(i * z) % 20] = SECRET(i);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = t; i < 4096; i += 128) out[i] = shared[i];
    for (uint i = 0; i < 20; i++) out[4096 + i * 128 + t] = large[(i * 21 + z) % 500] | small[(i + z) % 20];
}

kernel void large_array(ARGUMENTS) {
    uint p[2000];
    if (z == 99) p[t % 2000] = 1;
    for (uint i = 0; i < 2000; i++) out[(i * 128 + t) & 0x7fff] |= p[(i + z) % 2000];
}

kernel void small_array(ARGUMENTS) {
    uint p[250];
    if (z == 99) p[t % 250] = 1;
    for (uint i = 0; i < 250; i++) out[i * 128 + t] = p[(i + z) % 250];
}

kernel void divergent_array(ARGUMENTS) {
    ushort p[100];
    if ((t & 1) == z) p[t % 100] = z;
    for (uint i = 0; i < 100; i++) out[i * 128 + t] = p[(i * t + z + 1) % 100];
}

kernel void constant_offsets(ARGUMENTS) {
    uint p[4];
    if (z == 99) p[0] = p[1] = p[2] = p[3] = z * t;
    for (uint i = 0; i < 4; i++) out[i * 128 + t] = p[i];
}

kernel void array_across_barrier(ARGUMENTS) {
    uint p[40];
    if (z == 99) p[t % 40] = 1;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (z == 98) p[(t + 1) % 40] = 1;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < 40; i++) out[i * 128 + t] = p[(i + z) % 40];
}

kernel void variable_across_barrier(ARGUMENTS) {
    uint a, b, c;
    float4 d;
    if (z == 99) {
        a = z * t;
        b = z * t * t;
        c = z;
        d = float4(t) * z;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = a;
    out[128 + t] = b;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[256 + t] = c;
    for (uint i = 0; i < 4; i++) out[384 + i * 128 + t] = as_type<uint>(d[i]);
}

struct Padded {
    uchar a;
    ulong b;
    float3 c;
    uchar d;
};

kernel void padding(device uint* words, constant uint& z, uint t [[thread_index_in_threadgroup]]) {
    device Padded* out = (device Padded*)words;
    Padded p[3];
    for (uint i = 0; i < 3; i++) {
        p[(i + z) % 3].a = 0;
        p[(i + z) % 3].b = 0;
        p[(i + z) % 3].c = 0;
        p[(i + z) % 3].d = 0;
    }
    for (uint i = 0; i < 3; i++) out[t * 3 + i] = p[(i + z) % 3];
}

kernel void partly_written(device uint* words, constant uint& z, uint t [[thread_index_in_threadgroup]]) {
    device Padded* out = (device Padded*)words;
    Padded p;
    p.a = z;
    out[t] = p;
}

uint without_result(uint x) {
    if (x > 1000) {
        return x;
    }
}

kernel void missing_return(ARGUMENTS) {
    out[t] = without_result(t + z);
}

kernel void inactive_lanes(ARGUMENTS) {
    uint a;
    uint p[20];
    if (t % 32 < 5) {
        a = z;
        p[(t + z) % 20] = z;
        out[t] = simd_shuffle(a, ushort(9 + z)) | simd_shuffle_down(p[(t + z) % 20], ushort(4 + z));
        out[128 + t] = quad_shuffle_xor(a, ushort(3)) | simd_broadcast(p[t % 20], 30);
    }
}

kernel void matrix(device uint* words, constant uint& z, uint t [[thread_index_in_threadgroup]]) {
    device float* out = (device float*)words;
    simdgroup_float8x8 a, b, c;
    if (z == 99) a = b = c = make_filled_simdgroup_matrix<float, 8, 8>(1);
    simdgroup_multiply_accumulate(c, a, b, c);
    simdgroup_store(c, out);
    simdgroup_store(a, out + 64);
}

kernel void matrix_in_loop(device uint* words, constant uint& z, uint t [[thread_index_in_threadgroup]]) {
    device float* out = (device float*)words;
    simdgroup_float8x8 c[4];
    for (uint k = 0; k < z; k++) {
        simdgroup_float8x8 a[2], b[2];
        for (uint i = 0; i < 2; i++) {
            simdgroup_load(a[i], out + 64 * i);
            simdgroup_load(b[i], out + 64 * k);
        }
        for (uint i = 0; i < 4; i++) simdgroup_multiply_accumulate(c[i], a[i / 2], b[i % 2], c[i]);
    }
    for (uint i = 0; i < 4; i++) simdgroup_store(c[i], out + t / 32 * 256 + 64 * i);
}

kernel void matrix_across_barrier(device uint* words, constant uint& z, uint t [[thread_index_in_threadgroup]]) {
    device float* out = (device float*)words;
    simdgroup_float8x8 c[4];
    for (uint k = 0; k < z; k++) {
        simdgroup_float8x8 a, b;
        simdgroup_load(a, out);
        simdgroup_load(b, out + 64);
        for (uint i = 0; i < 4; i++) simdgroup_multiply_accumulate(c[i], a, b, c[i]);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < 4; i++) simdgroup_store(c[i], out + t / 32 * 256 + 64 * i);
}

// Large enough that calls stay calls.
uint reads_array(uint k, uint z, device uint* out) {
    uint p[24];
    uchar q[9];
    uint sum = 0;
    if (z == 99) {
        for (uint i = 0; i < 24; i++) p[(i * k) % 24] = i;
        q[k % 9] = 1;
    }
    for (uint i = 0; i < 24; i++) {
        uint at = (i * 7 + k) % 24;
        sum |= p[at] | p[(at * 5 + z) % 24] | q[(at + i) % 9];
        sum |= p[(at * k + 3) % 24] | p[(at ^ k) % 24] | q[(at * i + k) % 9];
    }
    if (k == 4 && z == 0) {
        return sum;
    }
    if (k > 2) {
        return sum | p[k % 24];
    }
}

kernel void called_array(ARGUMENTS) {
    uint sum = 0, k = 0;
    TIMES_128({
        sum |= reads_array((k++ + t) % 7, z, out);
        if ((t + k) % 3 == 0) {
            uint one = reads_array(t % 5, z, out);
            sum |= one | simd_shuffle(one, ushort(k % 32));
        }
    })
    out[t] = sum;
}
