// String literals as the first values of arrays of characters.
//! covers: C++ dcl.init.string
//! oracle: clang
//! kernel: strings
//! arg 0: i32 0*12
//! expect 0: i32 6 97 101 0 4 122 0 3 120 121 0 98

#include <metal_stdlib>
using namespace metal;

constant char ALPHABET[] = "abcde";
constant uchar SHORT[4] = "xyz";

struct Entry {
    char name[3];
    int value;
};

constant Entry ENTRIES[2] = {{"xy", 7}, {{"b"}, 8}};

kernel void strings(device int* out) {
    out[0] = sizeof(ALPHABET);
    out[1] = ALPHABET[0];
    out[2] = ALPHABET[4];
    out[3] = ALPHABET[5];
    out[4] = sizeof(SHORT);
    out[5] = SHORT[2];
    char local[] = {"no"};
    out[6] = local[2];
    out[7] = sizeof(local);
    out[8] = ENTRIES[0].name[0];
    out[9] = ENTRIES[0].name[1];
    out[10] = ENTRIES[1].name[2];
    out[11] = ENTRIES[1].name[0];
}
