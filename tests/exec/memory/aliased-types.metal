// Bytes written as one type and read as another, on every address space.
//! covers: MSL 2.21, MSL 4.1, MSL 4.3, MSL 4.4
//! oracle: clang
//! kernel: bytes
//! arg 0: u8 0*8
//! expect 0: u8 4 3 2 1 0 0 0x80 0x3f

#include <metal_stdlib>
using namespace metal;

kernel void bytes(device uchar* out) {
    *(device uint*)out = 0x01020304;
    uint word = 0;
    thread uchar* parts = (thread uchar*)&word;
    parts[2] = 0x80;
    parts[3] = 0x3f;
    *(device uint*)(out + 4) = word;
}
