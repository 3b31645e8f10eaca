// The functions of <metal_integer>, against values worked out by hand. Each check sets one word.
//! covers: MSL 6.3
//! kernel: narrow
//! arg 0: u32 0*55
//! expect 0: u32 1*54 0
//! arg 1: i8 -128 -100 -1 0 1 3 100 127
//! arg 2: u8 0 1 3 128 200 255
//! kernel: words
//! arg 0: u32 0*49
//! expect 0: u32 1*48 0
//! arg 1: i32 -2147483648 -5 -1 0 1 7 65536 2147483647
//! arg 2: u32 0 1 7 65536 0x80000000 0xffffffff
//! kernel: wide
//! arg 0: u32 0*30
//! expect 0: u32 1*29 0
//! arg 1: i64 0x8000000000000000 -3 0 3 0x7fffffffffffffff
//! arg 2: u64 0 1 3 0x8000000000000000 0xffffffffffffffff
#include <metal_stdlib>
using namespace metal;
#define CHECK(C) out[n++] = (C) ? 1 : 0;

kernel void narrow(device uint* out [[buffer(0)]], device const char* s [[buffer(1)]], device const uchar* u [[buffer(2)]]) {
  uint n = 0;
  char low = s[0], m100 = s[1], minus = s[2], zero = s[3], one = s[4], three = s[5], p100 = s[6], high = s[7];
  uchar u0 = u[0], u1 = u[1], u3 = u[2], u128 = u[3], u200 = u[4], u255 = u[5];
  CHECK(abs(m100) == 100) CHECK(absdiff(low, high) == 255) CHECK(absdiff(u3, u200) == 197) CHECK(absdiff(u200, u3) == 197)
  CHECK(addsat(p100, p100) == 127) CHECK(addsat(m100, m100) == -128) CHECK(addsat(u200, u128) == 255)
  CHECK(subsat(m100, p100) == -128) CHECK(subsat(u3, u200) == 0) CHECK(subsat(p100, m100) == 127)
  CHECK(hadd(high, high) == 127) CHECK(hadd(low, minus) == -65) CHECK(rhadd(low, minus) == -64) CHECK(hadd(u255, u200) == 227)
  CHECK(rhadd(u255, u200) == 228) CHECK(mulhi(m100, p100) == -40) CHECK(mulhi(u200, u200) == 156)
  CHECK(madhi(u200, u200, u3) == 159) CHECK(madsat(p100, p100, one) == 127) CHECK(madsat(m100, p100, one) == -128)
  CHECK(madsat(three, minus, one) == -2) CHECK(madsat(u200, u3, u1) == 255) CHECK(madsat(u3, u3, u1) == 10)
  CHECK(clz(one) == 7) CHECK(clz(u0) == 8) CHECK(ctz(u128) == 7) CHECK(ctz(zero) == 8) CHECK(popcount(minus) == 8)
  CHECK(reverse_bits(u1) == 128) CHECK(reverse_bits(u3) == 192) CHECK(rotate(u3, u1) == 6) CHECK(rotate(u200, u1) == 145)
  CHECK(rotate(low, one) == 1) CHECK(rotate(u200, u0) == 200) CHECK(rotate(u3, uchar(9)) == 6)
  CHECK(extract_bits(u200, 3, 4) == 9) CHECK(extract_bits(m100, 2, 3) == -1) CHECK(extract_bits(u200, 0, 8) == 200)
  CHECK(extract_bits(u200, 3, 0) == 0) CHECK(insert_bits(u255, u3, 2, 4) == 0xcf) CHECK(insert_bits(u3, u200, 4, 0) == 3)
  CHECK(insert_bits(u3, u200, 0, 8) == 200) CHECK(insert_bits(zero, minus, 4, 4) == -16)
  CHECK(min(low, high) == -128) CHECK(max(u200, u3) == 200) CHECK(clamp(p100, minus, three) == 3) CHECK(median3(u3, u200, u128) == 128)
  CHECK(min3(three, minus, one) == -1) CHECK(max3(u3, u200, u128) == 200) CHECK(median3(minus, p100, low) == -1)
  CHECK(all(addsat(char2(p100, m100), char2(p100, m100)) == char2(127, -128)))
  CHECK(all(rotate(uchar4(u3, u200, u1, u128), uchar4(u1, u1, u3, u1)) == uchar4(6, 145, 8, 1)))
  CHECK(all(extract_bits(char2(m100, p100), 2, 3) == char2(-1, 1))) CHECK(all(madsat(char2(p100), char2(p100, m100), char2(0)) == char2(127, -128)))
}

kernel void words(device uint* out [[buffer(0)]], device const int* s [[buffer(1)]], device const uint* u [[buffer(2)]]) {
  uint n = 0;
  int low = s[0], m5 = s[1], minus = s[2], zero = s[3], one = s[4], seven = s[5], p65536 = s[6], high = s[7];
  uint u0 = u[0], u1 = u[1], u7 = u[2], u65536 = u[3], top = u[4], all_ones = u[5];
  CHECK(abs(m5) == 5) CHECK(absdiff(low, high) == 0xffffffffu) CHECK(absdiff(minus, low) == 0x7fffffffu)
  CHECK(addsat(high, one) == INT_MAX) CHECK(addsat(low, minus) == INT_MIN) CHECK(addsat(all_ones, u1) == UINT_MAX)
  CHECK(subsat(low, one) == INT_MIN) CHECK(subsat(u1, u7) == 0) CHECK(subsat(high, minus) == INT_MAX)
  CHECK(hadd(high, high) == INT_MAX) CHECK(hadd(all_ones, all_ones) == UINT_MAX) CHECK(rhadd(all_ones, u0) == 0x80000000u)
  CHECK(hadd(m5, zero) == -3) CHECK(rhadd(m5, zero) == -2) CHECK(mulhi(p65536, p65536) == 1) CHECK(mulhi(minus, one) == -1)
  CHECK(mulhi(all_ones, all_ones) == 0xfffffffeu) CHECK(madhi(p65536, p65536, seven) == 8)
  CHECK(madsat(p65536, p65536, one) == INT_MAX) CHECK(madsat(low, high, one) == INT_MIN) CHECK(madsat(seven, seven, m5) == 44)
  CHECK(madsat(all_ones, all_ones, all_ones) == UINT_MAX) CHECK(madsat(u7, u7, u1) == 50) CHECK(madsat(u65536, u65536, u0) == UINT_MAX)
  CHECK(clz(one) == 31) CHECK(clz(u0) == 32) CHECK(ctz(top) == 31) CHECK(ctz(u0) == 32) CHECK(popcount(seven) == 3)
  CHECK(reverse_bits(u7) == 0xe0000000u) CHECK(rotate(top, u1) == 1) CHECK(rotate(u7, all_ones) == 0x80000003u) CHECK(rotate(m5, zero) == -5)
  CHECK(extract_bits(0xabcd1234u + u0, 8, 12) == 0xd12) CHECK(extract_bits(int(0xabcd1234) + zero, 16, 16) == int(0xffffabcd))
  CHECK(extract_bits(all_ones, 0, 32) == UINT_MAX) CHECK(extract_bits(all_ones, 31, 1) == 1) CHECK(extract_bits(m5, 4, 0) == 0)
  CHECK(insert_bits(all_ones, u7, 4, 8) == 0xfffff07fu) CHECK(insert_bits(u7, all_ones, 0, 32) == UINT_MAX) CHECK(insert_bits(u7, all_ones, 31, 1) == 0x80000007u)
  CHECK(mul24(seven, m5) == -35) CHECK(mad24(u7, u7, u1) == 50) CHECK(clamp(m5, zero, seven) == 0) CHECK(median3(m5, seven, zero) == 0)
  CHECK(all(extract_bits(uint2(all_ones, top), 28, 4) == uint2(15, 8))) CHECK(all(mulhi(uint2(top), uint2(4, 6)) == uint2(2, 3)))
  CHECK(all(madsat(int3(p65536, 3, m5), int3(p65536, 4, 2), int3(0, 5, 1)) == int3(INT_MAX, 17, -9)))
}

kernel void wide(device uint* out [[buffer(0)]], device const long* s [[buffer(1)]], device const ulong* u [[buffer(2)]]) {
  uint n = 0;
  long low = s[0], m3 = s[1], zero = s[2], three = s[3], high = s[4];
  ulong u0 = u[0], u1 = u[1], u3 = u[2], top = u[3], all_ones = u[4];
  CHECK(absdiff(low, high) == ULONG_MAX) CHECK(addsat(high, three) == LONG_MAX) CHECK(subsat(low, three) == LONG_MIN) CHECK(subsat(u1, u3) == 0)
  CHECK(mulhi(high, high) == 0x3fffffffffffffffl) CHECK(mulhi(all_ones, all_ones) == 0xfffffffffffffffeul) CHECK(mulhi(m3, three) == -1)
  CHECK(madsat(high, three, zero) == LONG_MAX) CHECK(madsat(low, three, zero) == LONG_MIN) CHECK(madsat(m3, three, three) == -6)
  CHECK(madsat(m3, m3, m3) == 6) CHECK(madsat(high, 1l, three) == LONG_MAX) CHECK(madsat(low, 1l, m3) == LONG_MIN) CHECK(madsat(low, -1l, -1l) == LONG_MAX)
  CHECK(madsat(low, -1l, zero) == LONG_MAX) CHECK(madsat(high, -1l, -1l) == LONG_MIN) CHECK(madsat(u3, u3, u1) == 10)
  CHECK(madsat(all_ones, u1, u1) == ULONG_MAX) CHECK(madsat(top, u3, u0) == ULONG_MAX) CHECK(madsat(all_ones, u1, u0) == ULONG_MAX)
  CHECK(clz(u3) == 62) CHECK(ctz(top) == 63) CHECK(popcount(all_ones) == 64) CHECK(reverse_bits(u1) == top) CHECK(rotate(top, u3) == 4)
  CHECK(extract_bits(all_ones, 60, 4) == 15) CHECK(extract_bits(low, 63, 1) == -1) CHECK(insert_bits(u0, u3, 62, 2) == 0xc000000000000000ul)
  CHECK(all(madsat(long2(high, m3), long2(three), long2(zero)) == long2(LONG_MAX, -9)))
}
