// Vectors of Clang's `ext_vector_type`: any length up to 16, however the attribute is written.
//! covers: MSL 2.2
//! kernel: copies
//! threads: 2
//! arg 0: f32 1..17
//! arg 1: f32 0*16
//! expect 1: f32 1..17
//! kernel: arithmetic
//! arg 0: i32 1..17
//! arg 1: i32 0*64
//! expect 1: i32 3 5 7 9 11 13 15 17 -1 -2 -3 -4 -5 -6 -7 -8 2 4 6 8 10 12 14 16 1 0 0 0 0 0 0 0 10 10 10 10 5 6 7 8 0 1 0 1 0 1 0 1
//! kernel: elements
//! arg 0: u32 0*64
//! expect 0: u32 0 1 15 7 8 0 2 14 1 3 15 6 40 41 42 43 44 45 46 47 5 4 1 9
//! kernel: layout
//! arg 0: u32 0*20
//! expect 0: u32 32 32 64 16 4 4 8 16 8 20 32 4 6 32 2
//! kernel: conversions
//! arg 0: f32 0*32
//! expect 0: f32 1 2 3 4 5 6 7 8 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 258 772 1286 1800 3 2 2 2 2 2 2 2 2 2 2 9
//! kernel: through_functions
//! arg 0: i32 0*24
//! expect 0: i32 11 12 13 14 15 16 17 18 11 12 13 14 15 16 17 18 36 8

#include <metal_stdlib>
using namespace metal;

typedef float float8 __attribute__((ext_vector_type(8)));
typedef __attribute__((__ext_vector_type__(8))) int int8;
using uint16 = uint __attribute__((ext_vector_type(16)));
using uint8 __attribute__((ext_vector_type(8))) = uint;
typedef uchar __attribute__((ext_vector_type(4))) uchar4_too;
typedef short short5 __attribute__((ext_vector_type(5)));
typedef int int1 __attribute__((ext_vector_type(1)));
template <typename T, int N> using Wide = T __attribute__((ext_vector_type(N)));

kernel void copies(device const float8* in, device float8* out, uint i [[thread_position_in_grid]]) {
    out[i] = in[i];
}

kernel void arithmetic(device const int8* in, device int8* out) {
    int8 a = in[0];
    out[0] = a + a + 1;
    out[1] = -a;
    int8 b = a;
    b *= 2;
    out[2] = b;
    out[3] = (a == 1).lo.x ? int8(1, int4(0), 0, 0, 0) : int8(7);
    Wide<bool, 8> small = a < 5;
    out[4] = small ? int8(10) : a;
    int8 old = b++;
    int8 odd = (old >> 1 & 1) ^ ((b - old) & 0);
    out[5] = (odd == 1) && !(a == 0) ? int8(0) : int8(1);
}

kernel void elements(device uint* out) {
    uint16 v = uint16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    out[0] = v.s0;
    out[1] = v.y;
    out[2] = v.sF;
    out[3] = v.lo.hi.hi.hi;
    out[4] = v.hi[0];
    out[5] = v.even.s0;
    out[6] = v.even.s1;
    out[7] = v.even.s7;
    out[8] = v.odd[0];
    out[9] = v.odd[1];
    out[10] = v.odd[int(out[2] & 7)];
    v.s0123 += 1;
    v.s1 = 5;
    out[11] = v.s0 + v.s1;
    uint8 w = v.s01234567;
    w.hi = uint4(44, 45, 46, 47);
    w.lo = w.hi - 4;
    *(device uint8*)(out + 12) = w;
    w.s01234567 = w.s76543210;
    out[20] = w[3] + 1 - 40;
    out[21] = (w + w).s0 - 90;
    int n = int(out[0]);
    w[n + 1] = 9;
    out[22] = (w - 8)[n + 1];
    out[23] = w.s1;
}

struct Mixed {
    char c;
    uint8 v;
};

kernel void layout(device uint* out) {
    out[0] = sizeof(float8);
    out[1] = alignof(float8);
    out[2] = sizeof(uint16);
    out[3] = sizeof(short5);
    out[4] = sizeof(int1);
    out[5] = alignof(uchar4_too);
    out[6] = sizeof(Wide<char, 8>);
    out[7] = alignof(Wide<char, 16>);
    out[8] = sizeof(Wide<half, 3>);
    Mixed mixed = {1, 20};
    out[9] = mixed.v.s7;
    out[10] = uint((thread char*)&mixed.v - (thread char*)&mixed);
    int1 one = 3;
    out[11] = uint((one + 1).x);
    short5 five = short5(1, 2, 3, 4, 5);
    out[12] = uint(five.s4 + 1);
    out[13] = is_same_v<Wide<float, 8>, float8> ? sizeof(Wide<float, 8>) : 0;
    out[14] = is_same_v<uchar4_too, uchar4> && is_same_v<Wide<float, 2>, float2> ? 2 : 0;
}

kernel void conversions(device float8* out) {
    int8 whole = {1, 2, 3, 4, 5, 6, 7, 8};
    out[0] = float8(whole);
    float8 spread = 1.5f;
    out[1] = spread;
    Wide<uchar, 8> bytes = (Wide<uchar, 8>)(Wide<int, 8>(2, 1, 4, 3, 6, 5, 8, 7));
    out[2].lo = float4(as_type<ushort4>(bytes));
    Wide<half, 16> halves = Wide<half, 16>(1);
    halves.s0 = 2;
    out[2].hi = float4(as_type<half4>(as_type<ulong>(half4(halves.s0000)))) + float4(1, 0, 0, 0);
    float8 chosen = out[0][0] > 0 ? float8(2) : spread;
    chosen.s7 = 9;
    out[3] = chosen;
}

int8 next(int8 v) { return v + 1; }
template <typename V> V twice_next(V v) { return next(next(v)); }
void change(thread int8& v) { v += 8; }
struct Holder {
    int8 v;
    int8 get() const { return v; }
};
constant int8 FIRST = {1, 2, 3, 4, 5, 6, 7, 8};

kernel void through_functions(device int8* out) {
    int8 v = FIRST;
    v = twice_next(v);
    change(v);
    out[0] = v;
    threadgroup int8 shared[2];
    Holder holder = {v};
    shared[1] = holder.get();
    out[1] = shared[1];
    int sum = 0;
    for (int n = 0; n < 8; ++n) sum += FIRST[n];
    out[2].s0 = sum;
    out[2].s1 = FIRST.s7;
}
