// Clang's functions on bits, which programs call by their names.
//! oracle: clang
//! kernel: bits
//! arg 0: u64 0*12
//! expect 0: u64 0x3412 0x78563412 0xefcdab8967452301 1 0 5 0 0x80 0x1e6a2c48 0x23456781 0x81234567 0x23456789abcdef01

#include <metal_stdlib>
using namespace metal;

static uint checked(uint x) {
    if (x > 100) return 1;
    __builtin_unreachable();
}

kernel void bits(device ulong* out) {
    out[0] = __builtin_bswap16(0x1234);
    out[1] = __builtin_bswap32(0x12345678);
    out[2] = __builtin_bswap64(0x0123456789abcdeful);
    out[3] = __builtin_parity(0x7) * checked(101);
    out[4] = __builtin_parityll(0x8000000000000001ul);
    out[5] = __builtin_ffs(0x10);
    out[6] = __builtin_ffsll(0);
    out[7] = __builtin_bitreverse8(1);
    out[8] = __builtin_bitreverse32(0x12345678);
    out[9] = __builtin_rotateleft32(0x12345678, 4);
    out[10] = __builtin_rotateright32(0x12345678, 4);
    out[11] = __builtin_rotateleft64(0x0123456789abcdeful, 8);
}
