//! arg r=zeros:i32:118
//! expect r: -7 0 -7 0 -7 0 -1 0 127 200 200 200 200 200 0 0 -128 0 -300 0 -300 0 -1 0 127 255 32767 65535 65535 65535 0 0 -128 0 -32768 0 -70000 0 -1 0 127 255 32767 65535 2147483647 -1 1 0 -128 0 -32768 0 -2147483648 0 -3 0 127 255 32767 65535 2147483647 -1 -1 2147483647 127 255 32767 65535 2147483647 -1 -1 2147483647 -128 0 -129 0 -129 0 -1 0 0 0 0 0 0 0 0 0 0 100 255 255 0 2 2 -2 127 -128 0 65535 10 65535 2 -2 -3 3 -9 7 -1 0 -2 1266679809 1266679809 -880803839 -880803839 1602224127 1602224128 1333788672
// Conversions that saturate or round, between all kinds of types and widths. The values follow from section 6.2.3
// of the OpenCL C specification.
#define ALL(S, x) \
    r[n++] = convert_char_sat((S)(x)); r[n++] = convert_uchar_sat((S)(x)); r[n++] = convert_short_sat((S)(x)); \
    r[n++] = convert_ushort_sat((S)(x)); r[n++] = convert_int_sat((S)(x)); r[n++] = as_int(convert_uint_sat((S)(x))); \
    r[n++] = (int)(convert_long_sat((S)(x)) >> 31); r[n++] = (int)(convert_ulong_sat((S)(x)) >> 33);
__kernel void k(__global int* r) {
    int n = 0;
    ALL(char, -7)
    ALL(uchar, 200)
    ALL(short, -300)
    ALL(ushort, 65535)
    ALL(int, -70000)
    ALL(uint, 0xffffffffu)
    ALL(long, -5000000000L)
    ALL(ulong, 0xffffffffffffffffUL)
    ALL(float, 1e30f)
    ALL(float, -129.5f)
    ALL(float, NAN)
    uchar4 bytes = convert_uchar4_sat((int4)(-1, 100, 255, 256));
    r[n++] = bytes.x; r[n++] = bytes.y; r[n++] = bytes.z; r[n++] = bytes.w;
    char8 narrow = convert_char8_sat_rte((float8)(0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 1000.0f, -1000.0f, 3.49f));
    r[n++] = narrow.s0; r[n++] = narrow.s1; r[n++] = narrow.s2; r[n++] = narrow.s4; r[n++] = narrow.s5; r[n++] = narrow.s6;
    ushort16 wide = convert_ushort16_sat((int16)(-5, 70000, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 65536));
    r[n++] = wide.s0; r[n++] = wide.s1; r[n++] = wide.s9; r[n++] = wide.sf;
    r[n++] = convert_int_rte(2.5f); r[n++] = convert_int_rtz(-2.7f); r[n++] = convert_int_rtn(-2.2f);
    r[n++] = convert_int_rtp(2.2f); r[n++] = convert_int_rte((short)-9); r[n++] = convert_uint_rtp(7u);
    int4 rounded = convert_int4_rtn((float4)(-0.5f, 0.5f, 1.0f, -1.5f));
    r[n++] = rounded.x; r[n++] = rounded.y; r[n++] = rounded.w;
    r[n++] = as_int(convert_float_rtz(16777219)); r[n++] = as_int(convert_float_rtp(16777217));
    r[n++] = as_int(convert_float_rtn(-16777217)); r[n++] = as_int(convert_float_rtp(-16777219));
    r[n++] = as_int(convert_float_rtn(0xffffffffffffffffUL)); r[n++] = as_int(convert_float_rtp(0xffffffffffffffffUL));
    r[n++] = as_int(convert_float2_rtp((uint2)(0xffffffffu, 3u)).x);
}
