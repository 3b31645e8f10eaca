// Labels of a switch inside of loops, blocks and branches: Duff's device and others.
//! covers: C++ stmt.switch
//! oracle: clang
//! kernel: duff
//! threads: 12
//! arg 0: i32 0*48
//! expect 0: i32 0 0 0 0 1 0 0 0 2 1 0 0 3 2 1 0 4 3 2 1 5 4 3 2 6 5 4 3 7 6 5 4 8 7 6 5 9 8 7 6 10 9 8 7 11 10 9 8
//! kernel: nested
//! threads: 10
//! arg 0: i32 0*10
//! expect 0: i32 1400 1311 1210 131 131 140 12 711 6100 1400
//! kernel: loops
//! threads: 6
//! arg 0: i32 0*6
//! expect 0: i32 321 21 1 3214 55 9

#include <metal_stdlib>
using namespace metal;

kernel void duff(device int* out, uint id [[thread_position_in_grid]]) {
    int count = id, to[16] = {}, at = 0, from = int(id);
    if (count > 0) {
        int rounds = (count + 3) / 4;
        switch (count % 4) {
        case 0: do { to[at++] = from--;
        case 3:      to[at++] = from--;
        case 2:      to[at++] = from--;
        case 1:      to[at++] = from--;
                } while (--rounds > 0);
        }
    }
    for (int n = 0; n < 4; ++n)
        out[id * 4 + n] = to[n];
}

kernel void nested(device int* out, uint id [[thread_position_in_grid]]) {
    int x = 0;
    switch (int(id)) {
        x = 5;
    case 1:
        x += 1;
        {
            x += 10;
    case 2:
            if (id < 2) {
                x += 100;
            } else {
                x += 10;
                if (id == 8) {
    case 3:
    case 4 ... 5:
                    x += 30;
                }
    case 6:
                x += id == 5 ? 10 : 0;
            }
            x += id == 6 ? 12 : 100;
            if (id == 6 || id == 5) break;
        }
        if (id > 2) { x += 1; break; }
        x += 1100;
        switch (id) { case 1: x -= 0; break; case 2: x += 0; }
        break;
    case 7:
        while (x < 700) {
            x += 700;
            if (x > 1000) continue;
    default:
            x += id == 8 ? 6000 : id == 7 ? 10 : 300;
        }
        x += id == 7 ? 1 : 100;
    }
    out[id] = x;
}

kernel void loops(device int* out, uint id [[thread_position_in_grid]]) {
    int x = 0, n = 3;
    switch (id) {
    case 3: x = 4;
    case 0:
        for (n = 3; n > 0; --n) {
            if (n == 9) {
    case 1:
                n = 2;
            }
            x = x * 1 + (n == 3 ? 300 : n == 2 ? 20 : 1) * (x % 10 == 4 ? 10 : 1);
            if (n == 1) break;
            if (n == 5) {
    case 2: x = 1; break;
            }
        }
        break;
    case 4:
        while (n-- > 0) { x += 10; if (n == 7) { case 5: x = 9; n = 0; } }
        if (id == 4) x += 25;
    }
    out[id] = x;
}
