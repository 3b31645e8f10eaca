// Bit counting, reversal, extraction, high products, saturating sums, differences.
//! covers: MSL 6.3
//! oracle: exact
//! kernel: bits
//! arg 0: u32 0*11
//! expect 0: u32 24 4 8 0x0000000f 0x0000000b 0xfffffffe 0xffffffff 7 0x12ab5678 32 0x34567812

#include <metal_stdlib>
using namespace metal;

kernel void bits(device uint* out) {
    uint x = 0xf0;
    out[0] = clz(x);
    out[1] = ctz(x);
    out[2] = popcount(0x00ff0000u);
    out[3] = reverse_bits(0xf0000000u);
    out[4] = extract_bits(0xabcdu, 12u, 4u) + 1;
    out[5] = mulhi(0xffffffffu, 0xffffffffu);
    out[6] = addsat(0xfffffff0u, 0x20u);
    out[7] = absdiff(3u, 10u);
    out[8] = insert_bits(0x12345678u, 0xabu, 16u, 8u);
    out[9] = clz(0u);
    out[10] = rotate(0x12345678u, 8u);
}
