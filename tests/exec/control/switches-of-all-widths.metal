// Switches: values of 64 bits and of narrow types, ranges at the ends of types, jumps out of nested switches and loops.
//! covers: C++ stmt.switch, C++ stmt.jump
//! oracle: clang
//! kernel: jumps
//! threads: 40
//! group: 40
//! arg 0: i32 0*80
//! arg 1: i32 0
//! expect 0: i32 1079 2000 2242 2000 2230 1999 2118 1999 1067 1000 1079 1000 2242 1003 2230 1073 2118 996 1067 1066 1079 1000 2242 1000 2230 1006 2118 1006 1067 993 1079 993 2242 1000 2230 1000 2118 1009 1067 1009 1079 990 2242 990 2230 1000 2118 1000 1067 1012 1079 1012 2242 987 2230 987 2118 1000 1067 1000 1079 1015 2242 1015 2230 984 2118 984 1067 1000 1079 1000 2242 1018 2230 1018 2118 981 1067 981
//! kernel: values
//! threads: 40
//! group: 40
//! arg 0: i32 0*240
//! arg 1: i32 0
//! expect 0: i32 0 1 3 1 1 2 0 1 6 4 1 2 0 1 6 4 1 3 0 1 6 4 22 3 0 1 6 4 22 3 0 1 4 3 22 3 0 1 4 4 22 3 0 1 6 4 22 3 0 5 6 4 22 1 0 5 6 4 22 1 0 5 1 4 22 1 3 5 1 4 22 1 3 5 1 4 22 1 3 5 2 4 22 1 3 5 2 4 22 1 1 2 2 4 22 1 0 3 2 4 22 2 0 3 2 4 21 2 0 3 2 4 21 3 0 3 2 4 12 3 5 3 6 4 12 3 6 3 6 4 12 3 0 5 6 4 12 3 0 5 6 4 12 3 0 5 6 2 12 1 2 5 4 4 12 1 4 5 4 4 12 1 4 5 6 4 12 1 4 5 6 4 12 1 4 5 6 4 12 1 4 5 1 4 12 1 4 5 1 4 12 1 4 5 2 4 12 2 4 5 2 4 11 2 4 5 2 4 11 3 4 5 2 4 11 3 4 5 2 4 12 3 4 5 2 4 2 3 4 5 2 4 2 3 4 5 2 4 22 3

#include <metal_stdlib>
using namespace metal;

enum class Mode : uchar { Off, On = 200, Auto = 255 };
enum Wide : long { Small = -5000000000, Large = 5000000000 };

static int continued(int v) {
    int r = 0;
    for (int k = 0; k < 6; k++) {
        switch ((v + k) % 5) {
            case 0: continue;
            case 1: r += 1; break;
            case 2: switch (k) { case 0: case 1: r += 10; break; case 2: r += 20; default: r += 40; continue; }
                r += 100;
            case 3: if (r > 150) return r * 2; r += 1000; break;
            default: r += 3;
        }
        r += 5;
    }
    return r;
}

kernel void jumps(device int* out [[buffer(0)]], constant int& x [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    int v = int(i) + x;
    out[2 * i] = continued(v);
    int r = 0;
    switch (v) case 7: case 9: r = 70;
    switch (v) { }
    switch (int w = v / 2; w % 3) { case 0: r += w; break; case 1: r -= w; }
    switch (v > 3) { case true: r += 1000; break; case false: r += 2000; }
    out[2 * i + 1] = r;
}

kernel void values(device int* out [[buffer(0)]], constant int& x [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    int v = int(i) + x, r = 0;
    long wide = (v - 20) * 1000000000l;
    switch (wide) {
        case Small: r = 1; break;
        case Large: r = 2; break;
        case -9000000000 ... -6000000000: r = 3; break;
        case 6000000000 ... 0x7fffffffffffffff: r = 4; break;
        case 0: r = 5; break;
        case 1000000000: r = 6; break;
    }
    out[6 * i] = r;
    ulong big = 0xfffffffffffffff0ul + v;
    r = 0;
    switch (big) {
        case 0xfffffffffffffff0ul ... 0xfffffffffffffff7ul: r = 1; break;
        case 0xfffffffffffffffful: r = 2; break;
        case 0 ... 5: r = 3; break;
        case 1ul << 63: r = 4; break;
        default: r = 5;
    }
    out[6 * i + 1] = r;
    char c = char(v * 13);
    r = 0;
    switch (c) {
        case -128 ... -100: r = 1; break;
        case -99 ... -1: r = 2; break;
        case 0: r = 3; break;
        case 'A' ... 'Z': r = 4; break;
        case 127: r = 5; break;
        default: r = 6;
    }
    out[6 * i + 2] = r;
    r = 0;
    switch (Mode(v * 51)) { case Mode::Off: r = 1; break; case Mode::On: r = 2; break; case Mode::Auto: r = 3; break; default: r = 4; }
    out[6 * i + 3] = r;
    ushort s = ushort(v * 4000);
    r = 0;
    switch (s) { case 0 ... 9999: r = 1; break; case 10000 ... 65535: r = 2; break; }
    switch (uchar(v * 7)) { case 0x80 ... 0xff: r += 10; break; case 0x10 ... 0x7f: r += 20; }
    out[6 * i + 4] = r;
    r = 0;
    switch (int(uint(v) * 0x10000001u)) {
        case -2147483647 - 1 ... -1: r = 1; break;
        case 0 ... 0x20000001: r = 2; break;
        case 0x20000002 ... 0x7fffffff: r = 3; break;
    }
    out[6 * i + 5] = r;
}
